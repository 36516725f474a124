CREATE TABLE idempotency (
	organisation_id VARCHAR(32) NOT NULL,
	account_id VARCHAR(32) NOT NULL,
	"key" VARCHAR(200) NOT NULL,
	request_hash VARCHAR(64) NOT NULL,
	status INTEGER,
	headers JSON,
	body BLOB,
	created_at DATETIME NOT NULL,
	CONSTRAINT pk_idempotency PRIMARY KEY (organisation_id, account_id, "key")
);

CREATE TABLE organisation (
	id VARCHAR(32) NOT NULL,
	name VARCHAR(200) NOT NULL,
	keeps_profiles BOOLEAN NOT NULL,
	report_days INTEGER NOT NULL,
	checklist JSON NOT NULL,
	least_pack VARCHAR(200),
	created_at DATETIME NOT NULL,
	CONSTRAINT pk_organisation PRIMARY KEY (id),
	CONSTRAINT uq_organisation_name UNIQUE (name)
);

CREATE TABLE sign_in_failure (
	id VARCHAR(32) NOT NULL,
	name_hash VARCHAR(64) NOT NULL,
	created_at DATETIME NOT NULL,
	CONSTRAINT pk_sign_in_failure PRIMARY KEY (id)
);

CREATE INDEX ix_sign_in_failure_name_hash_created_at ON sign_in_failure (name_hash, created_at);

CREATE TABLE worker (
	id VARCHAR(32) NOT NULL,
	name VARCHAR(200) NOT NULL,
	slots INTEGER NOT NULL,
	version VARCHAR(40) NOT NULL,
	started_at DATETIME NOT NULL,
	seen_at DATETIME NOT NULL,
	CONSTRAINT pk_worker PRIMARY KEY (id)
);

CREATE TABLE account (
	id VARCHAR(32) NOT NULL,
	organisation_id VARCHAR(32) NOT NULL,
	name VARCHAR(200) NOT NULL,
	name_key VARCHAR(64) NOT NULL,
	look_key VARCHAR(64) NOT NULL,
	role VARCHAR(40) NOT NULL,
	password_hash TEXT,
	password_is_temporary BOOLEAN NOT NULL,
	oidc_subject TEXT,
	mail_address TEXT,
	mail_events JSON,
	created_at DATETIME NOT NULL,
	disabled_at DATETIME,
	CONSTRAINT pk_account PRIMARY KEY (id),
	CONSTRAINT uq_account_organisation_id_name_key UNIQUE (organisation_id, name_key),
	CONSTRAINT uq_account_organisation_id_look_key UNIQUE (organisation_id, look_key),
	CONSTRAINT fk_account_organisation_id FOREIGN KEY(organisation_id) REFERENCES organisation (id),
	CONSTRAINT uq_account_oidc_subject UNIQUE (oidc_subject)
);

CREATE INDEX ix_account_organisation_id ON account (organisation_id);

CREATE TABLE job (
	id VARCHAR(32) NOT NULL,
	organisation_id VARCHAR(32) NOT NULL,
	kind VARCHAR(40) NOT NULL,
	subject_id VARCHAR(32) NOT NULL,
	state VARCHAR(40) NOT NULL,
	attempt INTEGER NOT NULL,
	failures INTEGER NOT NULL,
	lease_until DATETIME,
	worker VARCHAR(200),
	cancel_requested BOOLEAN NOT NULL,
	problem TEXT NOT NULL,
	created_at DATETIME NOT NULL,
	started_at DATETIME,
	finished_at DATETIME,
	CONSTRAINT pk_job PRIMARY KEY (id),
	CONSTRAINT fk_job_organisation_id FOREIGN KEY(organisation_id) REFERENCES organisation (id)
);

CREATE INDEX ix_job_organisation_id_started_at ON job (organisation_id, started_at);

CREATE INDEX ix_job_organisation_id_state_id ON job (organisation_id, state, id);

CREATE INDEX ix_job_state_created_at ON job (state, created_at);

CREATE INDEX ix_job_subject_id ON job (subject_id);

CREATE TABLE log_entry (
	organisation_id VARCHAR(32) NOT NULL,
	seq INTEGER NOT NULL,
	at DATETIME NOT NULL,
	actor_id VARCHAR(32),
	actor VARCHAR(200) NOT NULL,
	action VARCHAR(40) NOT NULL,
	object_kind VARCHAR(40) NOT NULL,
	object_id VARCHAR(32) NOT NULL,
	detail JSON NOT NULL,
	previous_hash VARCHAR(64) NOT NULL,
	hash VARCHAR(64) NOT NULL,
	CONSTRAINT pk_log_entry PRIMARY KEY (organisation_id, seq),
	CONSTRAINT fk_log_entry_organisation_id FOREIGN KEY(organisation_id) REFERENCES organisation (id)
);

CREATE INDEX ix_log_entry_organisation_id_object_id ON log_entry (organisation_id, object_id);

CREATE TABLE log_head (
	organisation_id VARCHAR(32) NOT NULL,
	seq INTEGER NOT NULL,
	hash VARCHAR(64) NOT NULL,
	seal VARCHAR(64) NOT NULL,
	CONSTRAINT pk_log_head PRIMARY KEY (organisation_id),
	CONSTRAINT fk_log_head_organisation_id FOREIGN KEY(organisation_id) REFERENCES organisation (id)
);

CREATE TABLE blob (
	id VARCHAR(32) NOT NULL,
	organisation_id VARCHAR(32) NOT NULL,
	digest VARCHAR(64) NOT NULL,
	size BIGINT NOT NULL,
	kind VARCHAR(40) NOT NULL,
	sealed_key BLOB,
	uploaded_by VARCHAR(32),
	created_at DATETIME NOT NULL,
	expires_at DATETIME,
	erased_at DATETIME,
	CONSTRAINT pk_blob PRIMARY KEY (id),
	CONSTRAINT ck_blob_no_key_when_erased CHECK (erased_at IS NULL OR sealed_key IS NULL),
	CONSTRAINT fk_blob_organisation_id FOREIGN KEY(organisation_id) REFERENCES organisation (id),
	CONSTRAINT fk_blob_uploaded_by FOREIGN KEY(uploaded_by) REFERENCES account (id)
);

CREATE INDEX ix_blob_expires_at ON blob (expires_at);

CREATE INDEX ix_blob_organisation_id_digest ON blob (organisation_id, digest);

CREATE TABLE job_event (
	job_id VARCHAR(32) NOT NULL,
	seq INTEGER NOT NULL,
	attempt INTEGER NOT NULL,
	kind VARCHAR(40) NOT NULL,
	text TEXT NOT NULL,
	at DATETIME NOT NULL,
	CONSTRAINT pk_job_event PRIMARY KEY (job_id, seq),
	CONSTRAINT fk_job_event_job_id FOREIGN KEY(job_id) REFERENCES job (id)
);

CREATE TABLE mail (
	id VARCHAR(32) NOT NULL,
	organisation_id VARCHAR(32) NOT NULL,
	account_id VARCHAR(32) NOT NULL,
	event VARCHAR(40) NOT NULL,
	path TEXT NOT NULL,
	state VARCHAR(40) NOT NULL,
	attempts INTEGER NOT NULL,
	next_at DATETIME,
	problem TEXT NOT NULL,
	created_at DATETIME NOT NULL,
	delivered_at DATETIME,
	CONSTRAINT pk_mail PRIMARY KEY (id),
	CONSTRAINT fk_mail_organisation_id FOREIGN KEY(organisation_id) REFERENCES organisation (id),
	CONSTRAINT fk_mail_account_id FOREIGN KEY(account_id) REFERENCES account (id)
);

CREATE INDEX ix_mail_account_id ON mail (account_id);

CREATE INDEX ix_mail_state_next_at ON mail (state, next_at);

CREATE TABLE model (
	id VARCHAR(32) NOT NULL,
	organisation_id VARCHAR(32) NOT NULL,
	name VARCHAR(200) NOT NULL,
	description TEXT NOT NULL,
	created_by VARCHAR(32) NOT NULL,
	created_at DATETIME NOT NULL,
	CONSTRAINT pk_model PRIMARY KEY (id),
	CONSTRAINT uq_model_organisation_id_name UNIQUE (organisation_id, name),
	CONSTRAINT fk_model_organisation_id FOREIGN KEY(organisation_id) REFERENCES organisation (id),
	CONSTRAINT fk_model_created_by FOREIGN KEY(created_by) REFERENCES account (id)
);

CREATE TABLE pack (
	id VARCHAR(32) NOT NULL,
	organisation_id VARCHAR(32) NOT NULL,
	name VARCHAR(200) NOT NULL,
	created_by VARCHAR(32) NOT NULL,
	created_at DATETIME NOT NULL,
	CONSTRAINT pk_pack PRIMARY KEY (id),
	CONSTRAINT uq_pack_organisation_id_name UNIQUE (organisation_id, name),
	CONSTRAINT fk_pack_organisation_id FOREIGN KEY(organisation_id) REFERENCES organisation (id),
	CONSTRAINT fk_pack_created_by FOREIGN KEY(created_by) REFERENCES account (id)
);

CREATE TABLE session (
	id VARCHAR(32) NOT NULL,
	hash VARCHAR(64) NOT NULL,
	account_id VARCHAR(32) NOT NULL,
	address VARCHAR(64) NOT NULL,
	created_at DATETIME NOT NULL,
	seen_at DATETIME,
	expires_at DATETIME NOT NULL,
	CONSTRAINT pk_session PRIMARY KEY (id),
	CONSTRAINT uq_session_hash UNIQUE (hash),
	CONSTRAINT fk_session_account_id FOREIGN KEY(account_id) REFERENCES account (id)
);

CREATE INDEX ix_session_account_id ON session (account_id);

CREATE TABLE token (
	id VARCHAR(32) NOT NULL,
	organisation_id VARCHAR(32) NOT NULL,
	account_id VARCHAR(32) NOT NULL,
	name VARCHAR(200) NOT NULL,
	prefix VARCHAR(16) NOT NULL,
	hash VARCHAR(64) NOT NULL,
	permissions JSON NOT NULL,
	created_at DATETIME NOT NULL,
	expires_at DATETIME,
	revoked_at DATETIME,
	used_at DATETIME,
	CONSTRAINT pk_token PRIMARY KEY (id),
	CONSTRAINT fk_token_organisation_id FOREIGN KEY(organisation_id) REFERENCES organisation (id),
	CONSTRAINT fk_token_account_id FOREIGN KEY(account_id) REFERENCES account (id),
	CONSTRAINT uq_token_hash UNIQUE (hash)
);

CREATE INDEX ix_token_account_id ON token (account_id);

CREATE INDEX ix_token_organisation_id ON token (organisation_id);

CREATE TABLE waiver (
	id VARCHAR(32) NOT NULL,
	organisation_id VARCHAR(32) NOT NULL,
	clause TEXT NOT NULL,
	leaf TEXT NOT NULL,
	digest TEXT NOT NULL,
	model_name TEXT,
	worst TEXT,
	reason TEXT NOT NULL,
	owner TEXT NOT NULL,
	ticket TEXT NOT NULL,
	expires VARCHAR(10) NOT NULL,
	granted VARCHAR(10),
	state VARCHAR(40) NOT NULL,
	requested_by VARCHAR(32) NOT NULL,
	requested_at DATETIME NOT NULL,
	decided_by VARCHAR(32),
	decided_at DATETIME,
	comment TEXT NOT NULL,
	seal VARCHAR(64),
	CONSTRAINT pk_waiver PRIMARY KEY (id),
	CONSTRAINT ck_waiver_four_eyes CHECK (decided_by IS NULL OR decided_by <> requested_by),
	CONSTRAINT ck_waiver_approved_by_somebody CHECK (state <> 'approved' OR decided_by IS NOT NULL),
	CONSTRAINT fk_waiver_organisation_id FOREIGN KEY(organisation_id) REFERENCES organisation (id),
	CONSTRAINT fk_waiver_requested_by FOREIGN KEY(requested_by) REFERENCES account (id),
	CONSTRAINT fk_waiver_decided_by FOREIGN KEY(decided_by) REFERENCES account (id)
);

CREATE INDEX ix_waiver_organisation_id_state ON waiver (organisation_id, state);

CREATE TABLE webhook (
	id VARCHAR(32) NOT NULL,
	organisation_id VARCHAR(32) NOT NULL,
	url TEXT NOT NULL,
	sealed_secret BLOB NOT NULL,
	events JSON NOT NULL,
	created_by VARCHAR(32) NOT NULL,
	created_at DATETIME NOT NULL,
	disabled_at DATETIME,
	CONSTRAINT pk_webhook PRIMARY KEY (id),
	CONSTRAINT fk_webhook_organisation_id FOREIGN KEY(organisation_id) REFERENCES organisation (id),
	CONSTRAINT fk_webhook_created_by FOREIGN KEY(created_by) REFERENCES account (id)
);

CREATE INDEX ix_webhook_organisation_id ON webhook (organisation_id);

CREATE TABLE contributor (
	blob_id VARCHAR(32) NOT NULL,
	account_id VARCHAR(32) NOT NULL,
	created_at DATETIME NOT NULL,
	CONSTRAINT pk_contributor PRIMARY KEY (blob_id, account_id),
	CONSTRAINT fk_contributor_blob_id FOREIGN KEY(blob_id) REFERENCES blob (id),
	CONSTRAINT fk_contributor_account_id FOREIGN KEY(account_id) REFERENCES account (id)
);

CREATE TABLE data_table (
	id VARCHAR(32) NOT NULL,
	organisation_id VARCHAR(32) NOT NULL,
	kind VARCHAR(40) NOT NULL,
	blob_id VARCHAR(32),
	path TEXT,
	file_name VARCHAR(200) NOT NULL,
	digest VARCHAR(64) NOT NULL,
	state VARCHAR(40) NOT NULL,
	problem TEXT NOT NULL,
	records BIGINT,
	columns JSON,
	uploaded_by VARCHAR(32) NOT NULL,
	created_at DATETIME NOT NULL,
	expires_at DATETIME NOT NULL,
	erased_at DATETIME,
	CONSTRAINT pk_data_table PRIMARY KEY (id),
	CONSTRAINT fk_data_table_organisation_id FOREIGN KEY(organisation_id) REFERENCES organisation (id),
	CONSTRAINT fk_data_table_blob_id FOREIGN KEY(blob_id) REFERENCES blob (id),
	CONSTRAINT fk_data_table_uploaded_by FOREIGN KEY(uploaded_by) REFERENCES account (id)
);

CREATE INDEX ix_data_table_organisation_id_created_at ON data_table (organisation_id, created_at);

CREATE TABLE delivery (
	id VARCHAR(32) NOT NULL,
	organisation_id VARCHAR(32) NOT NULL,
	webhook_id VARCHAR(32) NOT NULL,
	event VARCHAR(40) NOT NULL,
	payload JSON NOT NULL,
	state VARCHAR(40) NOT NULL,
	attempts INTEGER NOT NULL,
	next_at DATETIME,
	status_code INTEGER,
	problem TEXT NOT NULL,
	created_at DATETIME NOT NULL,
	delivered_at DATETIME,
	CONSTRAINT pk_delivery PRIMARY KEY (id),
	CONSTRAINT fk_delivery_organisation_id FOREIGN KEY(organisation_id) REFERENCES organisation (id),
	CONSTRAINT fk_delivery_webhook_id FOREIGN KEY(webhook_id) REFERENCES webhook (id)
);

CREATE INDEX ix_delivery_state_next_at ON delivery (state, next_at);

CREATE INDEX ix_delivery_webhook_id ON delivery (webhook_id);

CREATE TABLE model_version (
	id VARCHAR(32) NOT NULL,
	organisation_id VARCHAR(32) NOT NULL,
	model_id VARCHAR(32) NOT NULL,
	n INTEGER NOT NULL,
	blob_id VARCHAR(32) NOT NULL,
	digest VARCHAR(64) NOT NULL,
	size BIGINT NOT NULL,
	file_name VARCHAR(200) NOT NULL,
	state VARCHAR(40) NOT NULL,
	problem TEXT NOT NULL,
	format VARCHAR(40) NOT NULL,
	summary JSON,
	uploaded_by VARCHAR(32) NOT NULL,
	created_at DATETIME NOT NULL,
	CONSTRAINT pk_model_version PRIMARY KEY (id),
	CONSTRAINT uq_model_version_model_id_n UNIQUE (model_id, n),
	CONSTRAINT uq_model_version_id_uploaded_by UNIQUE (id, uploaded_by),
	CONSTRAINT fk_model_version_organisation_id FOREIGN KEY(organisation_id) REFERENCES organisation (id),
	CONSTRAINT fk_model_version_model_id FOREIGN KEY(model_id) REFERENCES model (id),
	CONSTRAINT fk_model_version_blob_id FOREIGN KEY(blob_id) REFERENCES blob (id),
	CONSTRAINT fk_model_version_uploaded_by FOREIGN KEY(uploaded_by) REFERENCES account (id)
);

CREATE INDEX ix_model_version_digest ON model_version (digest);

CREATE TABLE pack_version (
	id VARCHAR(32) NOT NULL,
	organisation_id VARCHAR(32) NOT NULL,
	pack_id VARCHAR(32) NOT NULL,
	n INTEGER NOT NULL,
	digest VARCHAR(64) NOT NULL,
	toml TEXT NOT NULL,
	note TEXT NOT NULL,
	created_by VARCHAR(32) NOT NULL,
	created_at DATETIME NOT NULL,
	CONSTRAINT pk_pack_version PRIMARY KEY (id),
	CONSTRAINT uq_pack_version_pack_id_n UNIQUE (pack_id, n),
	CONSTRAINT fk_pack_version_organisation_id FOREIGN KEY(organisation_id) REFERENCES organisation (id),
	CONSTRAINT fk_pack_version_pack_id FOREIGN KEY(pack_id) REFERENCES pack (id),
	CONSTRAINT fk_pack_version_created_by FOREIGN KEY(created_by) REFERENCES account (id)
);

CREATE TABLE audit (
	id VARCHAR(32) NOT NULL,
	organisation_id VARCHAR(32) NOT NULL,
	kind VARCHAR(40) NOT NULL,
	model_version_id VARCHAR(32) NOT NULL,
	data_table_id VARCHAR(32),
	pack_version_id VARCHAR(32),
	pack_name VARCHAR(200) NOT NULL,
	pack_digest VARCHAR(64) NOT NULL,
	options JSON NOT NULL,
	knowledge TEXT NOT NULL,
	waivers JSON NOT NULL,
	purpose TEXT NOT NULL,
	created_by VARCHAR(32) NOT NULL,
	created_at DATETIME NOT NULL,
	state VARCHAR(40) NOT NULL,
	verdict VARCHAR(40),
	exit_code INTEGER,
	headline TEXT NOT NULL,
	problem TEXT NOT NULL,
	entry JSON,
	provenance JSON,
	result_attempt INTEGER,
	repaired_version_id VARCHAR(32),
	original_audit_id VARCHAR(32),
	keeps_table BOOLEAN,
	tries_all BOOLEAN,
	repair_summary JSON,
	finished_at DATETIME,
	seal VARCHAR(64),
	CONSTRAINT pk_audit PRIMARY KEY (id),
	CONSTRAINT ck_audit_verdict_when_done CHECK ((state = 'done') = (verdict IS NOT NULL)),
	CONSTRAINT ck_audit_a_verdict CHECK (verdict IS NULL OR verdict IN ('PASS', 'FAIL', 'UNDETERMINED')),
	CONSTRAINT uq_audit_id_model_version_id UNIQUE (id, model_version_id),
	CONSTRAINT fk_audit_organisation_id FOREIGN KEY(organisation_id) REFERENCES organisation (id),
	CONSTRAINT fk_audit_model_version_id FOREIGN KEY(model_version_id) REFERENCES model_version (id),
	CONSTRAINT fk_audit_data_table_id FOREIGN KEY(data_table_id) REFERENCES data_table (id),
	CONSTRAINT fk_audit_pack_version_id FOREIGN KEY(pack_version_id) REFERENCES pack_version (id),
	CONSTRAINT fk_audit_created_by FOREIGN KEY(created_by) REFERENCES account (id),
	CONSTRAINT fk_audit_repaired_version_id FOREIGN KEY(repaired_version_id) REFERENCES model_version (id)
);

CREATE INDEX ix_audit_data_table_id ON audit (data_table_id);

CREATE INDEX ix_audit_model_version_id ON audit (model_version_id);

CREATE INDEX ix_audit_model_version_id_id ON audit (model_version_id, id);

CREATE INDEX ix_audit_organisation_id_created_at ON audit (organisation_id, created_at);

CREATE INDEX ix_audit_organisation_id_id ON audit (organisation_id, id);

CREATE INDEX ix_audit_organisation_id_state_model_version_id_id ON audit (organisation_id, state, model_version_id, id);

CREATE INDEX ix_audit_original_audit_id ON audit (original_audit_id);

CREATE TABLE comparison (
	id VARCHAR(32) NOT NULL,
	organisation_id VARCHAR(32) NOT NULL,
	model_id VARCHAR(32) NOT NULL,
	from_version_id VARCHAR(32) NOT NULL,
	to_version_id VARCHAR(32) NOT NULL,
	state VARCHAR(40) NOT NULL,
	problem TEXT NOT NULL,
	trees JSON,
	created_at DATETIME NOT NULL,
	CONSTRAINT pk_comparison PRIMARY KEY (id),
	CONSTRAINT uq_comparison_from_version_id_to_version_id UNIQUE (from_version_id, to_version_id),
	CONSTRAINT fk_comparison_organisation_id FOREIGN KEY(organisation_id) REFERENCES organisation (id),
	CONSTRAINT fk_comparison_model_id FOREIGN KEY(model_id) REFERENCES model (id),
	CONSTRAINT fk_comparison_from_version_id FOREIGN KEY(from_version_id) REFERENCES model_version (id),
	CONSTRAINT fk_comparison_to_version_id FOREIGN KEY(to_version_id) REFERENCES model_version (id)
);

CREATE TABLE table_share (
	data_table_id VARCHAR(32) NOT NULL,
	account_id VARCHAR(32) NOT NULL,
	organisation_id VARCHAR(32) NOT NULL,
	created_at DATETIME NOT NULL,
	CONSTRAINT pk_table_share PRIMARY KEY (data_table_id, account_id),
	CONSTRAINT fk_table_share_data_table_id FOREIGN KEY(data_table_id) REFERENCES data_table (id),
	CONSTRAINT fk_table_share_account_id FOREIGN KEY(account_id) REFERENCES account (id),
	CONSTRAINT fk_table_share_organisation_id FOREIGN KEY(organisation_id) REFERENCES organisation (id)
);

CREATE INDEX ix_table_share_account_id ON table_share (account_id);

CREATE TABLE finding (
	id VARCHAR(32) NOT NULL,
	organisation_id VARCHAR(32) NOT NULL,
	audit_id VARCHAR(32) NOT NULL,
	n INTEGER NOT NULL,
	result_id TEXT NOT NULL,
	clause TEXT NOT NULL,
	verdict VARCHAR(40) NOT NULL,
	severity VARCHAR(40) NOT NULL,
	message TEXT NOT NULL,
	leaf TEXT NOT NULL,
	path TEXT NOT NULL,
	accepted JSON,
	CONSTRAINT pk_finding PRIMARY KEY (id),
	CONSTRAINT uq_finding_audit_id_n UNIQUE (audit_id, n),
	CONSTRAINT fk_finding_organisation_id FOREIGN KEY(organisation_id) REFERENCES organisation (id),
	CONSTRAINT fk_finding_audit_id FOREIGN KEY(audit_id) REFERENCES audit (id)
);

CREATE TABLE proposal (
	id VARCHAR(32) NOT NULL,
	organisation_id VARCHAR(32) NOT NULL,
	audit_id VARCHAR(32) NOT NULL,
	n INTEGER NOT NULL,
	name TEXT NOT NULL,
	title TEXT NOT NULL,
	remedies JSON NOT NULL,
	verdict VARCHAR(40) NOT NULL,
	is_recommended BOOLEAN NOT NULL,
	cost JSON NOT NULL,
	failing JSON NOT NULL,
	problem TEXT NOT NULL,
	file_name VARCHAR(200) NOT NULL,
	blob_id VARCHAR(32),
	model_version_id VARCHAR(32),
	CONSTRAINT pk_proposal PRIMARY KEY (id),
	CONSTRAINT uq_proposal_audit_id_n UNIQUE (audit_id, n),
	CONSTRAINT fk_proposal_organisation_id FOREIGN KEY(organisation_id) REFERENCES organisation (id),
	CONSTRAINT fk_proposal_audit_id FOREIGN KEY(audit_id) REFERENCES audit (id),
	CONSTRAINT fk_proposal_blob_id FOREIGN KEY(blob_id) REFERENCES blob (id),
	CONSTRAINT fk_proposal_model_version_id FOREIGN KEY(model_version_id) REFERENCES model_version (id)
);

CREATE INDEX ix_proposal_blob_id ON proposal (blob_id);

CREATE TABLE release (
	id VARCHAR(32) NOT NULL,
	organisation_id VARCHAR(32) NOT NULL,
	model_version_id VARCHAR(32) NOT NULL,
	uploader_id VARCHAR(32) NOT NULL,
	audit_id VARCHAR(32) NOT NULL,
	title VARCHAR(200) NOT NULL,
	purpose TEXT NOT NULL,
	state VARCHAR(40) NOT NULL,
	checklist JSON NOT NULL,
	opened_by VARCHAR(32) NOT NULL,
	opened_at DATETIME NOT NULL,
	decided_at DATETIME,
	revision INTEGER NOT NULL,
	seal VARCHAR(64),
	CONSTRAINT pk_release PRIMARY KEY (id),
	CONSTRAINT fk_release_model_version_id_uploader_id FOREIGN KEY(model_version_id, uploader_id) REFERENCES model_version (id, uploaded_by),
	CONSTRAINT fk_release_audit FOREIGN KEY(audit_id, model_version_id) REFERENCES audit (id, model_version_id),
	CONSTRAINT uq_release_id_uploader_id_opened_by UNIQUE (id, uploader_id, opened_by),
	CONSTRAINT fk_release_organisation_id FOREIGN KEY(organisation_id) REFERENCES organisation (id),
	CONSTRAINT fk_release_opened_by FOREIGN KEY(opened_by) REFERENCES account (id)
);

CREATE INDEX ix_release_organisation_id_state ON release (organisation_id, state);

CREATE TABLE report (
	id VARCHAR(32) NOT NULL,
	organisation_id VARCHAR(32) NOT NULL,
	audit_id VARCHAR(32) NOT NULL,
	kind VARCHAR(40) NOT NULL,
	form VARCHAR(40) NOT NULL,
	blob_id VARCHAR(32) NOT NULL,
	created_at DATETIME NOT NULL,
	seal VARCHAR(64),
	CONSTRAINT pk_report PRIMARY KEY (id),
	CONSTRAINT uq_report_audit_id_kind_form UNIQUE (audit_id, kind, form),
	CONSTRAINT fk_report_organisation_id FOREIGN KEY(organisation_id) REFERENCES organisation (id),
	CONSTRAINT fk_report_audit_id FOREIGN KEY(audit_id) REFERENCES audit (id),
	CONSTRAINT fk_report_blob_id FOREIGN KEY(blob_id) REFERENCES blob (id)
);

CREATE TABLE comment (
	id VARCHAR(32) NOT NULL,
	organisation_id VARCHAR(32) NOT NULL,
	release_id VARCHAR(32) NOT NULL,
	author_id VARCHAR(32) NOT NULL,
	text TEXT NOT NULL,
	at DATETIME NOT NULL,
	CONSTRAINT pk_comment PRIMARY KEY (id),
	CONSTRAINT fk_comment_organisation_id FOREIGN KEY(organisation_id) REFERENCES organisation (id),
	CONSTRAINT fk_comment_release_id FOREIGN KEY(release_id) REFERENCES release (id),
	CONSTRAINT fk_comment_author_id FOREIGN KEY(author_id) REFERENCES account (id)
);

CREATE INDEX ix_comment_release_id ON comment (release_id);

CREATE TABLE review (
	id VARCHAR(32) NOT NULL,
	organisation_id VARCHAR(32) NOT NULL,
	release_id VARCHAR(32) NOT NULL,
	uploader_id VARCHAR(32) NOT NULL,
	opened_by VARCHAR(32) NOT NULL,
	reviewer_id VARCHAR(32) NOT NULL,
	decision VARCHAR(40) NOT NULL,
	comment TEXT NOT NULL,
	at DATETIME NOT NULL,
	seal VARCHAR(64),
	CONSTRAINT pk_review PRIMARY KEY (id),
	CONSTRAINT fk_review_release_id_uploader_id_opened_by FOREIGN KEY(release_id, uploader_id, opened_by) REFERENCES release (id, uploader_id, opened_by),
	CONSTRAINT ck_review_not_the_uploader CHECK (reviewer_id <> uploader_id),
	CONSTRAINT ck_review_not_who_asked CHECK (reviewer_id <> opened_by),
	CONSTRAINT ck_review_a_decision CHECK (decision IN ('approve', 'reject', 'changes')),
	CONSTRAINT fk_review_organisation_id FOREIGN KEY(organisation_id) REFERENCES organisation (id),
	CONSTRAINT fk_review_reviewer_id FOREIGN KEY(reviewer_id) REFERENCES account (id)
);

CREATE INDEX ix_review_release_id ON review (release_id);

CREATE VIEW release_party AS
SELECT r.id AS release_id, r.uploader_id AS account_id, 'uploaded' AS part, CAST(NULL AS TIMESTAMP WITH TIME ZONE) AS since FROM release r
UNION ALL SELECT r.id, r.opened_by, 'opened', CAST(NULL AS TIMESTAMP WITH TIME ZONE) FROM release r
UNION ALL SELECT r.id, a.created_by, 'asked', CAST(NULL AS TIMESTAMP WITH TIME ZONE) FROM release r JOIN audit a ON a.id = r.audit_id
UNION ALL SELECT r.id, p.created_by, 'wrote', CAST(NULL AS TIMESTAMP WITH TIME ZONE) FROM release r JOIN audit a ON a.id = r.audit_id JOIN pack_version p ON p.id = a.pack_version_id
UNION ALL SELECT r.id, c.account_id, 'brought', c.created_at FROM release r JOIN model_version v ON v.id = r.model_version_id
JOIN blob o ON o.organisation_id = v.organisation_id AND o.digest = v.digest JOIN contributor c ON c.blob_id = o.id
UNION ALL SELECT r.id, o.uploaded_by, 'brought', o.created_at FROM release r JOIN model_version v ON v.id = r.model_version_id JOIN model_version o ON o.organisation_id = v.organisation_id AND o.digest = v.digest
UNION ALL SELECT r.id, w.requested_by, 'waived', CAST(NULL AS TIMESTAMP WITH TIME ZONE) FROM release r JOIN audit a ON a.id = r.audit_id CROSS JOIN json_each(a.waivers) AS named JOIN waiver w ON w.id = named.value;

CREATE TRIGGER log_entry_no_update BEFORE update ON log_entry BEGIN SELECT RAISE(ABORT, 'the log is never changed'); END;

CREATE TRIGGER log_entry_no_delete BEFORE delete ON log_entry BEGIN SELECT RAISE(ABORT, 'the log is never changed'); END;

CREATE TRIGGER review_four_eyes_insert AFTER insert ON review WHEN EXISTS (SELECT 1 FROM release_party p WHERE p.release_id = NEW.release_id AND p.account_id = NEW.reviewer_id AND (p.since IS NULL OR p.since <= NEW.at)) BEGIN SELECT RAISE(ABORT, 'nobody decides about what is their own'); END;

CREATE TRIGGER review_four_eyes_update AFTER update ON review WHEN EXISTS (SELECT 1 FROM release_party p WHERE p.release_id = NEW.release_id AND p.account_id = NEW.reviewer_id AND (p.since IS NULL OR p.since <= NEW.at)) BEGIN SELECT RAISE(ABORT, 'nobody decides about what is their own'); END;

CREATE TRIGGER audit_parts BEFORE UPDATE ON audit WHEN OLD.created_by IS NOT NEW.created_by OR OLD.pack_version_id IS NOT NEW.pack_version_id BEGIN SELECT RAISE(ABORT, 'who had a part in it never changes'); END;

CREATE TRIGGER pack_version_parts BEFORE UPDATE ON pack_version WHEN OLD.created_by IS NOT NEW.created_by BEGIN SELECT RAISE(ABORT, 'who had a part in it never changes'); END;

CREATE TRIGGER waiver_parts BEFORE UPDATE ON waiver WHEN OLD.requested_by IS NOT NEW.requested_by BEGIN SELECT RAISE(ABORT, 'who had a part in it never changes'); END;

CREATE TRIGGER contributor_no_update BEFORE update ON contributor BEGIN SELECT RAISE(ABORT, 'who had a part in it never changes'); END;

CREATE TRIGGER contributor_no_delete BEFORE delete ON contributor BEGIN SELECT RAISE(ABORT, 'who had a part in it never changes'); END;

