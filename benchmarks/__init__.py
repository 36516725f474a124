"""What is measured, and against what: soundness of the estimate, studies of the papers' tables, and speed."""
