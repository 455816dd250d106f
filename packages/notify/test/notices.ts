/** What channels are told in their tests: a notice, one whose words are hostile, and a try of a step. */
import type { Json, RunId } from '@reeve/core'
import type { StepIO } from '@reeve/engine'
import type { Notice } from '@reeve/oversight'

export const notice = (more: Partial<Notice> = {}): Notice => ({
  type: 'approval',
  id: 'apr_0123456789abcdef0123',
  run: 'run_1' as RunId,
  path: ['office', 'postman'],
  title: 'office > postman asks for approval of send_mail',
  text: '"send_mail" is a sensitive tool',
  input: { to: 'ann@example.org', text: 'Hello' },
  risk: 'high',
  hits: [{ code: 'sensitive_action', priority: 'highest', detail: 'it sends' }],
  approvers: ['ann', 'bob'],
  askedAt: Date.UTC(2026, 0, 2, 3, 4, 5),
  until: Date.UTC(2026, 0, 2, 3, 34, 5),
  ...more,
})

/** Everything that a model might write so that something happens to whoever reads it. */
const bad =
  '\u001b[2J\u001b]8;;https://evil.example/approve\u0007click\r\nBcc: eve@example.org\r\n\r\n<!channel> <https://evil.example/approve?id=1|ok> <script>alert(1)</script> ``` *bold* & \u202Etxt.exe\u2028\u009b31m \uD800'

/** Its words are hostile wherever a model has a say. */
export const hostile = (more: Partial<Notice> = {}): Notice =>
  notice({
    title: `office asks for ${bad}`,
    text: bad,
    input: { [bad]: bad, list: [bad] } as Json,
    path: ['office', bad],
    approvers: [bad],
    hits: [{ code: 'sensitive_action', priority: 'highest', detail: bad }],
    ...more,
  })

/** A try of the step that tells. */
export const io = (key = 'act_run_1>notice:x:tell', signal = new AbortController().signal): StepIO => ({
  key,
  epoch: 1,
  attempt: 1,
  now: Date.UTC(2026, 0, 2, 3, 4, 6),
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  signal,
  emit: () => {},
  get contents(): never {
    throw new Error('a notice keeps nothing')
  },
})
