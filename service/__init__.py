"""The end for an organisation: models are submitted, audits run, people review and release, pipelines ask the gate."""
