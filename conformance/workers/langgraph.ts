/** A real graph of LangGraph, with a chat model of LangChain that plays a part. */
import { type AIMessage, AIMessageChunk, ToolMessage, type BaseMessage } from '@langchain/core/messages'
import { ChatGenerationChunk } from '@langchain/core/outputs'
import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager'
import { SimpleChatModel } from '@langchain/core/language_models/chat_models'
import { END, interrupt, MemorySaver, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { currentSegment, langGraphAgent } from 'reeve/langgraph'
import type { MakeWorker, WorkerPart } from 'reeve/testing'
import { everything } from '../worker-report.ts'

class PartModel extends SimpleChatModel {
  readonly part: WorkerPart
  constructor(part: WorkerPart) {
    super({ maxRetries: 0 })
    this.part = part
  }
  _llmType(): string {
    return 'part'
  }
  async _call(): Promise<string> {
    throw new Error('it streams')
  }
  override async *_streamResponseChunks(
    messages: BaseMessage[],
    _options: this['ParsedCallOptions'],
    manager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const results = messages.filter((message) => message.getType() === 'tool').length
    const turn = await this.part.model(results, messages.map(({ content }) => String(content)).join('\n'))
    const { model, input, output } = this.part.usage
    const metadata = {
      usage_metadata: { input_tokens: input, output_tokens: output, total_tokens: input + output },
      response_metadata: { model_name: model },
    }
    if (!('say' in turn)) {
      const [name, args] = 'ask' in turn ? ['ask', { question: turn.ask }] : [turn.call, turn.input]
      const tool_call_chunks = [
        { id: `call_${results}`, name, args: JSON.stringify(args), index: 0, type: 'tool_call_chunk' as const },
      ]
      yield new ChatGenerationChunk({
        text: '',
        message: new AIMessageChunk({ content: '', tool_call_chunks, ...metadata } as object),
      })
      return
    }
    for await (const text of this.part.pieces(turn.say)) {
      const chunk = new ChatGenerationChunk({ text, message: new AIMessageChunk({ content: text }) })
      yield chunk
      await manager?.handleLLMNewToken(text, undefined, undefined, undefined, undefined, { chunk })
    }
    yield new ChatGenerationChunk({
      text: '',
      message: new AIMessageChunk({ content: '', ...metadata } as object),
    })
  }
}

function graphOf(part: WorkerPart, checkpointer: MemorySaver) {
  const model = new PartModel(part)
  return new StateGraph(MessagesAnnotation)
    .addNode('think', async ({ messages }, config) => ({ messages: [await model.invoke(messages, config)] }))
    .addNode('act', async ({ messages }, { signal }) => {
      const [call] = (messages.at(-1) as AIMessage).tool_calls ?? []
      const io = { key: currentSegment()?.key, signal }
      const result = async (): Promise<unknown> => {
        if (call!.name === 'ask') return interrupt(call!.args['question'])
        if (call!.name === 'work') return part.work(call!.args as { item: string }, io)
        const { decisions } = interrupt<object, { decisions: [Decision] }>({
          actionRequests: [{ name: call!.name, args: call!.args }],
          reviewConfigs: [{ actionName: call!.name, allowedDecisions: ['approve', 'edit', 'reject'] }],
        })
        const [decision] = decisions
        if (decision.type === 'reject') return decision.message
        return part.publish(
          (decision.type === 'edit' ? decision.editedAction.args : call!.args) as { text: string },
          io,
        )
      }
      return { messages: [new ToolMessage({ content: String(await result()), tool_call_id: call!.id! })] }
    })
    .addEdge(START, 'think')
    .addConditionalEdges('think', ({ messages }) =>
      ((messages.at(-1) as AIMessage).tool_calls ?? []).length > 0 ? 'act' : END,
    )
    .addEdge('act', 'think')
    .compile({ checkpointer })
}

type Decision =
  { type: 'approve' } | { type: 'edit'; editedAction: { args: object } } | { type: 'reject'; message: string }

export const langGraph: MakeWorker = () => {
  // stands for a database: it outlives the process that is killed
  const checkpointer = new MemorySaver()
  return {
    honours: everything,
    worker: (part) =>
      langGraphAgent({ name: 'langgraph', description: 'Plays its part.', graph: graphOf(part, checkpointer) }),
  }
}
