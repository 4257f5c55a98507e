-- A store written by version 1 of its format: one run, one decision, one sweep.
BEGIN TRANSACTION;
CREATE TABLE datasets (name TEXT PRIMARY KEY, info TEXT NOT NULL);
INSERT INTO "datasets" VALUES('tiny','{"classes": ["a", "b"], "fingerprint": "abc", "groups": [], "name": "tiny", "test_images": 10, "train_images": 20}');
CREATE TABLE decisions (
    run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    costs TEXT NOT NULL,
    confusion BLOB NOT NULL,
    PRIMARY KEY (run_id, costs)
);
INSERT INTO "decisions" VALUES('cd99f8b29290b745','{"cells": [[0, 1]], "inside": 10.0, "kind": "zone", "normalization": "none", "outside": 1.0}',X'0500000000000000000000000000000003000000000000000200000000000000');
CREATE TABLE planned (
    sweep TEXT NOT NULL REFERENCES sweeps (name) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    run_id TEXT NOT NULL,
    config TEXT NOT NULL,
    PRIMARY KEY (sweep, position)
);
INSERT INTO "planned" VALUES('demo/tiny',0,'cd99f8b29290b745','{"alpha": 0.0, "augment": false, "batch_size": 50, "data": "tiny", "epochs": 2, "learning_rate": 0.0005, "limit_test": null, "limit_train": null, "loss": "cross-entropy", "network": "digits", "patience": 0, "penalty": null, "score_on": [{"cells": [[0, 1]], "inside": 10.0, "kind": "zone", "normalization": "none", "outside": 1.0}], "seed": 0, "small_classes": [], "small_count": null, "validation": 0, "width": 1.0}');
CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    status TEXT NOT NULL CHECK (status IN ('ok', 'failed')),
    config TEXT NOT NULL,
    record TEXT NOT NULL,
    n_classes INTEGER NOT NULL,
    confusion BLOB NOT NULL,
    probs BLOB
);
INSERT INTO "runs" VALUES('cd99f8b29290b745','ok','{"alpha": 0.0, "augment": false, "batch_size": 50, "data": "tiny", "epochs": 2, "learning_rate": 0.0005, "limit_test": null, "limit_train": null, "loss": "cross-entropy", "network": "digits", "patience": 0, "penalty": null, "score_on": [{"cells": [[0, 1]], "inside": 10.0, "kind": "zone", "normalization": "none", "outside": 1.0}], "seed": 0, "small_classes": [], "small_count": null, "validation": 0, "width": 1.0}','{"provenance": {"seconds": 1.5, "finished_at": "2024-01-01T00:00:00+00:00", "device": "cpu", "threads": 1, "hardware": "one core", "versions": [["python", "3.11"], ["torch", "2"]]}, "train_losses": [0.9, 0.3], "validation_losses": [0.8, 0.7], "best_epoch": 2, "test_loss": 0.25, "train_images": 20, "parameters": 7, "error": ""}',2,X'0400000000000000010000000000000002000000000000000300000000000000',X'0000803E0000403F0000003F0000003F');
CREATE TABLE sweeps (name TEXT PRIMARY KEY, record TEXT NOT NULL);
INSERT INTO "sweeps" VALUES('demo/tiny','{"experiment": "demo", "data": "tiny", "scale": "smoke", "command": "untrue run demo", "expected": 1}');
COMMIT;
PRAGMA user_version = 1;
