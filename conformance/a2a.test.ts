/** The official client of A2A over JSON-RPC and over HTTP with JSON, against `a2a()`. */
import { Role, TaskState, type StreamResponse, type Task } from '@a2a-js/sdk'
import { a2a } from 'reeve/a2a'
import { describe, expect, test } from 'vitest'
import { all, asking, connect, data, questionIn, taskIn, text, told } from './a2a-client.ts'
import { serve } from './serving.ts'
import { asker, chief, failing, published } from './team.ts'

describe.each(['JSONRPC', 'HTTP+JSON'] as const)('over %s', (binding) => {
  test('a task asks for an approval with its exact arguments, and goes on with the decision in the same task', async () => {
    published.length = 0
    const { url, errors } = await serve([chief], [a2a({ agents: [chief] })])
    const client = await connect(url, binding)
    const question = asking(text('A story about ravens.'))
    const first = await all(client.sendMessageStream(question))
    expect(told(first)).toEqual([
      'task SUBMITTED',
      'statusUpdate WORKING',
      'statusUpdate WORKING',
      'statusUpdate INPUT_REQUIRED',
    ])
    const { id: taskId, contextId, history } = taskIn(first)
    expect(history[0]?.messageId).toBe(question.message.messageId)
    const asked = questionIn(first)
    expect(asked).toMatchObject({
      kind: 'approval',
      path: ['chief', 'writer'],
      tool: 'publish',
      input: { text: 'Ravens plan.' },
      schema: { properties: { decision: { enum: ['approve', 'reject', 'edit', 'retry'] } } },
    })
    // the same message again begins nothing
    const again = await all(client.sendMessageStream(question))
    expect(taskIn(again).id).toBe(taskId)
    expect(told(again)).toEqual(['task INPUT_REQUIRED', 'statusUpdate INPUT_REQUIRED'])
    const decision = asking(data({ id: asked['id'], decision: 'edit', input: { text: 'Ravens!' } }), {
      taskId,
      contextId,
    })
    const second = await all(client.sendMessageStream(decision))
    expect(told(second)).toEqual(['task WORKING', 'statusUpdate WORKING', 'artifactUpdate', 'statusUpdate COMPLETED'])
    expect(published).toEqual(['Ravens!'])
    // and the decision again decides nothing
    expect(told(await all(client.sendMessageStream(decision)))).toEqual(['task COMPLETED'])
    const done = await client.getTask({ tenant: '', id: taskId })
    expect(done.artifacts[0]?.parts[0]?.content).toEqual({ $case: 'text', value: 'All is done.' })
    expect(done.history.map(({ role }) => Role[role])).toEqual(['ROLE_USER', 'ROLE_AGENT', 'ROLE_USER', 'ROLE_AGENT'])
    expect(errors).toEqual([])
  })

  test('send waits for the end, text answers a question, tasks are listed by their conversation', async () => {
    const { url } = await serve([chief, asker, failing], [a2a({ agents: [chief, asker, failing] })])
    const client = await connect(`${url}/a2a/asker/`, binding)
    const waiting = (await client.sendMessage(asking(text('Go.'), { contextId: 'talk' }))) as Task
    expect(TaskState[waiting.status!.state]).toBe('TASK_STATE_INPUT_REQUIRED')
    const done = (await client.sendMessage(asking(text('red'), { taskId: waiting.id }))) as Task
    expect(TaskState[done.status!.state]).toBe('TASK_STATE_COMPLETED')
    expect(done.artifacts[0]?.parts[0]?.content).toEqual({ $case: 'text', value: 'You said "red".' })
    const other = (await client.sendMessage(asking(text('Again.'), { contextId: 'talk' }))) as Task
    const page = await client.listTasks({
      tenant: '',
      contextId: 'talk',
      status: TaskState.TASK_STATE_UNSPECIFIED,
      pageSize: 1,
      pageToken: '',
      statusTimestampAfter: undefined,
    })
    expect(page.tasks.map(({ id }) => id)).toEqual([other.id])
    expect(page.totalSize).toBe(2)
    const next = await client.listTasks({
      tenant: '',
      contextId: 'talk',
      status: TaskState.TASK_STATE_COMPLETED,
      pageToken: page.nextPageToken,
      statusTimestampAfter: undefined,
      includeArtifacts: true,
    })
    expect(next.tasks.map(({ id, artifacts }) => [id, artifacts.length])).toEqual([[done.id, 1]])
    const cancelled = await client.cancelTask({ tenant: '', id: other.id, metadata: undefined })
    expect(TaskState[cancelled.status!.state]).toBe('TASK_STATE_CANCELED')
    await expect(client.cancelTask({ tenant: '', id: done.id, metadata: undefined })).rejects.toMatchObject({
      reason: 'TASK_NOT_CANCELABLE',
    })
    const broken = await connect(`${url}/a2a/failing/`, binding)
    const failed = (await broken.sendMessage(asking(text('Go.')))) as Task
    expect(TaskState[failed.status!.state]).toBe('TASK_STATE_FAILED')
    // an agent shows its own tasks alone
    await expect(broken.getTask({ tenant: '', id: done.id })).rejects.toMatchObject({ reason: 'TASK_NOT_FOUND' })
    await expect(client.sendMessage(asking(text('more'), { taskId: done.id }))).rejects.toMatchObject({
      reason: 'UNSUPPORTED_OPERATION',
    })
    // the client goes by the card
    await expect(async () =>
      client.createTaskPushNotificationConfig({
        tenant: '',
        taskId: done.id,
        id: 'x',
        url: 'https://example.com',
        token: '',
        authentication: undefined,
      }),
    ).rejects.toMatchObject({ reason: 'PUSH_NOTIFICATION_NOT_SUPPORTED' })
  })

  test('who subscribes to a task that waits sees what another person has decided', async () => {
    published.length = 0
    const { url, runtime } = await serve([chief], [a2a({ agents: [chief] })])
    const client = await connect(url, binding)
    const waiting = (await client.sendMessage(asking(text('Go.')))) as Task
    const stream = client.resubscribeTask({ tenant: '', id: waiting.id })[Symbol.asyncIterator]()
    const first = (await stream.next()).value as StreamResponse
    expect(told([first])).toEqual(['task INPUT_REQUIRED'])
    const [approval] = await runtime.approvals()
    await runtime.decide({ approvalId: approval!.id, decision: 'approve', approver: 'bob' })
    const rest: StreamResponse[] = []
    for (let next = await stream.next(); next.done !== true; next = await stream.next()) rest.push(next.value)
    expect(told(rest)).toEqual(['statusUpdate WORKING', 'artifactUpdate', 'statusUpdate COMPLETED'])
    await expect(all(client.resubscribeTask({ tenant: '', id: waiting.id }))).rejects.toMatchObject({
      reason: 'UNSUPPORTED_OPERATION',
    })
    expect(published).toEqual(['Ravens plan.'])
  })
})
