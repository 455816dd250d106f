-- A store as 0.2.0 wrote it (schema 7): run_done completed, run_failed failed, run_waits waits for an approval.
CREATE TABLE run(
  id TEXT PRIMARY KEY, agent TEXT NOT NULL, version TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'running',
  control TEXT, stuck TEXT, parked INTEGER NOT NULL DEFAULT 0, owner TEXT, epoch INTEGER NOT NULL DEFAULT 1,
  caller TEXT, created INTEGER NOT NULL, ended INTEGER, end_position INTEGER, losses INTEGER NOT NULL DEFAULT 0,
  asks INTEGER NOT NULL DEFAULT 0, tenant TEXT, usd REAL, usage TEXT, why TEXT, archived INTEGER NOT NULL DEFAULT 0, state TEXT GENERATED ALWAYS AS (CASE WHEN ended IS NOT NULL THEN status WHEN stuck IS NOT NULL THEN 'stuck'
  WHEN control IN ('pausing', 'paused', 'human_control') THEN control WHEN parked = 0 THEN 'work' WHEN asks > 0 THEN 'asks' ELSE 'rests' END) VIRTUAL) WITHOUT ROWID;
CREATE TABLE activation(num INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE);
CREATE TABLE log(position INTEGER PRIMARY KEY, act INTEGER NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, body TEXT NOT NULL, blobs INTEGER);
CREATE TABLE summed(act INTEGER NOT NULL, start INTEGER NOT NULL, upto INTEGER NOT NULL, PRIMARY KEY(act, start)) WITHOUT ROWID;
CREATE TABLE archive(first INTEGER PRIMARY KEY, last INTEGER NOT NULL, run TEXT NOT NULL, body BLOB NOT NULL);
CREATE TABLE inbox(position INTEGER PRIMARY KEY AUTOINCREMENT, act TEXT NOT NULL, key TEXT NOT NULL, body TEXT, taken INTEGER NOT NULL DEFAULT 0);
CREATE TABLE question(id TEXT PRIMARY KEY, act TEXT NOT NULL, address TEXT NOT NULL, key TEXT NOT NULL, kind TEXT NOT NULL, until INTEGER, at INTEGER NOT NULL, body TEXT NOT NULL, tenant TEXT);
CREATE TABLE account(act TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE value(stream TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY(stream, key)) WITHOUT ROWID;
CREATE TABLE done(run TEXT NOT NULL, stream TEXT NOT NULL, once TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY(run, stream, once)) WITHOUT ROWID;
CREATE TABLE blob(hash TEXT PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE blob_use(run TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY(run, hash)) WITHOUT ROWID;
CREATE TABLE process(id TEXT PRIMARY KEY, host TEXT NOT NULL, pid INTEGER NOT NULL, started TEXT NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE report(process TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE tag(name TEXT NOT NULL, value TEXT NOT NULL, created INTEGER NOT NULL, run TEXT NOT NULL, PRIMARY KEY(name, value, created, run)) WITHOUT ROWID;
CREATE INDEX run_lost ON run(losses) WHERE losses > 1;
CREATE INDEX run_open ON run(owner, agent, version, created) WHERE ended IS NULL AND parked = 0;
CREATE INDEX run_stuck ON run(stuck) WHERE stuck IS NOT NULL;
CREATE INDEX run_ended ON run(ended) WHERE ended IS NOT NULL;
CREATE INDEX run_news ON run(end_position) WHERE end_position IS NOT NULL;
CREATE INDEX run_whole ON run(ended) WHERE ended IS NOT NULL AND archived = 0 AND instr(id, '>') = 0;
CREATE UNIQUE INDEX log_seq ON log(act, seq);
CREATE INDEX archive_run ON archive(run, last);
CREATE UNIQUE INDEX inbox_key ON inbox(act, key);
CREATE INDEX inbox_unread ON inbox(act, position) WHERE taken = 0;
CREATE INDEX question_act ON question(act, address);
CREATE INDEX question_due ON question(until) WHERE until IS NOT NULL;
CREATE INDEX blob_use_hash ON blob_use(hash);
CREATE INDEX run_state ON run(state, created, id, agent, tenant) WHERE instr(id, '>') = 0;
CREATE INDEX run_listed ON run(created, id, agent, tenant) WHERE instr(id, '>') = 0;
CREATE INDEX run_agent ON run(agent, created) WHERE instr(id, '>') = 0;
CREATE INDEX run_usd ON run(usd) WHERE usd IS NOT NULL;
CREATE INDEX run_apart ON run(state) WHERE instr(id, '>') > 0 AND ended IS NULL;
CREATE INDEX inbox_pause ON inbox(act) WHERE taken = 0 AND key GLOB '!pause*';
CREATE INDEX question_asked ON question(at) WHERE kind <> 'timer';
CREATE INDEX question_kind ON question(kind, at) WHERE kind <> 'timer';
CREATE INDEX question_tenant ON question(tenant, at) WHERE kind <> 'timer' AND tenant IS NOT NULL;
INSERT INTO run(id, agent, version, status, control, stuck, parked, owner, epoch, caller, created, ended, end_position, losses, asks, tenant, usd, usage, why, archived) VALUES('run_done', 'greets', '1+af2778af0ecc', 'completed', NULL, NULL, 0, NULL, 1, '{"user":"ann","tenant":"acme"}', 1796009680416, 1796009680566, 4, 0, 0, '"acme"', 0.5, '{"calls":1,"tokens":7,"usd":0.5}', NULL, 0);
INSERT INTO run(id, agent, version, status, control, stuck, parked, owner, epoch, caller, created, ended, end_position, losses, asks, tenant, usd, usage, why, archived) VALUES('run_failed', 'fails', '1+8268ce9964f6', 'failed', NULL, NULL, 0, NULL, 1, '{}', 1796009680608, 1796009680625, 6, 0, 0, NULL, 0, '{"calls":0,"tokens":0,"usd":0}', '{"reason":"orchestration.threw: order 12 is \"gone\"","failure":{"code":"orchestration.threw","message":"order 12 is \"gone\"","class":"internal","retryable":false}}', 0);
INSERT INTO run(id, agent, version, status, control, stuck, parked, owner, epoch, caller, created, ended, end_position, losses, asks, tenant, usd, usage, why, archived) VALUES('run_waits', 'asks', '1+8268ce9964f6', 'running', NULL, NULL, 1, NULL, 1, '{}', 1796009680833, NULL, NULL, 0, 1, NULL, 0, '{"calls":0,"tokens":0,"usd":0}', NULL, 0);
INSERT INTO activation(num, id) VALUES(1, 'act_run_done');
INSERT INTO activation(num, id) VALUES(2, 'act_run_failed');
INSERT INTO activation(num, id) VALUES(3, 'act_run_waits');
INSERT INTO log(position, act, seq, at, body, blobs) VALUES(1, 1, 0, 1796009680416, '["start","greets","1+af2778af0ecc",{"brief":{"instructions":"What is the weather in Zürich?"},"depth":0,"maxDepth":4,"limits":{"turns":20,"calls":256,"tasks":2000},"root":{"defaults":{"calls":256,"tasks":2000}}},null,{"user":"ann","tenant":"acme"}]', NULL);
INSERT INTO log(position, act, seq, at, body, blobs) VALUES(2, 1, 1, 1796009680416, '["model","turn/model","rule/greets",1,"QM56qHXABaWsoiC6f4zInL2n0lvjchYv2rtKnZE9mds"]', NULL);
INSERT INTO log(position, act, seq, at, body, blobs) VALUES(3, 1, 2, 1796009680565, '["answer","turn/model",["Hello from the old store","stop","rule/greets",[3,4,0.5]],"greets"]', NULL);
INSERT INTO log(position, act, seq, at, body, blobs) VALUES(4, 1, 3, 1796009680566, '["end","Hello from the old store",[["greets","rule/greets",1,3,4,null,0.5]]]', NULL);
INSERT INTO log(position, act, seq, at, body, blobs) VALUES(5, 2, 0, 1796009680608, '["start","fails","1+8268ce9964f6",{"brief":{"instructions":"go"},"depth":0,"maxDepth":4,"limits":{"turns":10000,"calls":256,"tasks":2000},"root":{"defaults":{"turns":10000,"calls":256,"tasks":2000}}},null,{}]', NULL);
INSERT INTO log(position, act, seq, at, body, blobs) VALUES(6, 2, 1, 1796009680614, '{"type":"activation.settled","outcome":{"status":"failed","failure":{"code":"orchestration.threw","message":"order 12 is \"gone\"","class":"internal","retryable":false}}}', NULL);
INSERT INTO log(position, act, seq, at, body, blobs) VALUES(7, 3, 0, 1796009680833, '["start","asks","1+8268ce9964f6",{"brief":{"instructions":"pay the bill"},"depth":0,"maxDepth":4,"limits":{"turns":10000,"calls":256,"tasks":2000},"root":{"defaults":{"turns":10000,"calls":256,"tasks":2000}}},null,{}]', NULL);
INSERT INTO log(position, act, seq, at, body, blobs) VALUES(8, 3, 1, 1796009680833, '{"type":"approval.requested","id":"apr_2ffc3350ad206164f0fc","path":["asks"],"tool":"pay","toolVersion":"1+8268ce9964f6","input":{"amount":7},"inputHash":"fb6632bd6651ff35747457d7d6aab3f5d91ff8521f5a79f7382c412da5ef081b","reason":"\"asks\" asks for approval of \"pay\"","risk":"medium","onTimeout":"reject","op":"ask","address":"approve/approval","contentKey":"sha256-1:Csfd5AYu59zz_M9YjEFzZW1dPtR6C5DNjWMldYj5yOM"}', NULL);
INSERT INTO question(id, act, address, key, kind, until, at, body, tenant) VALUES('apr_2ffc3350ad206164f0fc', 'act_run_waits', 'approve/approval', 'ask:approve/approval', 'approval', NULL, 1796009680842, '{"type":"approval.requested","id":"apr_2ffc3350ad206164f0fc","path":["asks"],"tool":"pay","toolVersion":"1+8268ce9964f6","input":{"amount":7},"inputHash":"fb6632bd6651ff35747457d7d6aab3f5d91ff8521f5a79f7382c412da5ef081b","reason":"\"asks\" asks for approval of \"pay\"","risk":"medium","onTimeout":"reject","op":"ask","address":"approve/approval","contentKey":"sha256-1:Csfd5AYu59zz_M9YjEFzZW1dPtR6C5DNjWMldYj5yOM"}', NULL);
INSERT INTO account(act, body) VALUES('act_run_done', '{"limits":{"turns":20},"spent":{"turns":1,"tokens":7,"usd":0.5},"reserved":{"turns":0,"tokens":0,"usd":0},"ms":0,"unknown":0}');
INSERT INTO account(act, body) VALUES('act_run_failed', '{"limits":{"turns":10000,"byDefault":true},"spent":{"turns":0,"tokens":0,"usd":0},"reserved":{"turns":0,"tokens":0,"usd":0},"ms":0,"unknown":0}');
INSERT INTO account(act, body) VALUES('act_run_waits', '{"limits":{"turns":10000,"byDefault":true},"spent":{"turns":0,"tokens":0,"usd":0},"reserved":{"turns":0,"tokens":0,"usd":0},"ms":0,"unknown":0}');
INSERT INTO meta(key, value) VALUES('id', 'sto_sfcr3mjt7eef84wg');
INSERT INTO tag(name, value, created, run) VALUES('tenant', '"acme"', 1796009680416, 'run_done');
INSERT INTO tag(name, value, created, run) VALUES('user', '"ann"', 1796009680416, 'run_done');
PRAGMA application_id=1382376822;
PRAGMA user_version=7;
