/**
 * Conversations: what one activation was shown and said, oldest first.
 *
 * Owns: which entries the events of an activation make. Does not own: what a message is (journal/views/transcript.ts),
 * reading the events (watched-run.ts).
 * K1: the same events give the same entries.
 */
import { fileLabel, present, typeOfData, type ActivationId, type FilePart, type Json } from '@reeve/core'
import { newTranscriptFold, thoughtsIn, transcribeChange, type Recorded, type Spoken } from '@reeve/journal'
import type { ConversationEntry, EntryFile } from '../wire.ts'
import { cut } from './cut.ts'

/** Characters of one entry. The journal has the rest. */
const textOfEntry = 100_000
/** Characters of base64 of all pictures of one conversation. Others are named, and the journal has them. */
const picturesOfAll = 8 * 1024 * 1024
const shownPictures: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

export class AgentConversation {
  readonly #activation: ActivationId
  readonly #fold = newTranscriptFold()
  readonly entries: ConversationEntry[] = []
  /** How many rows of its activation, and of the beginnings below it, were taken in. */
  rows = 0
  #pictures = 0

  constructor(activation: ActivationId) {
    this.#activation = activation
  }

  /** Takes in the next event of the activation, or the beginning of a worker of it. */
  take(recorded: Recorded): void {
    this.rows++
    // events of child runs have positions of their own
    const placed = { ...recorded, position: this.rows }
    const change = this.#fold.index.take(placed)
    if (change === undefined || recorded.activation !== this.#activation) {
      if (change !== undefined) transcribeChange(this.#fold, placed, change)
      return
    }
    const { position, at, event } = recorded
    if (event.type === 'step.settled' && change.closed[0]?.event.type === 'model.requested') {
      const answer = event.outcome.status === 'completed' ? event.outcome.output : null
      for (const text of thoughtsIn(answer)) if (text !== '') this.#add({ position, at, type: 'reasoning', text })
    }
    if (event.type === 'message.received') {
      this.#add({ position, at, type: 'message', ...present({ name: event.from ?? event.by }), value: event.body })
    }
    for (const said of transcribeChange(this.#fold, placed, change))
      for (const entry of entriesOf(said, (file) => this.#fileOf(file))) this.#add({ position, at, ...entry })
    // behind the answer that it is about; the last one is said by the failure
    if (event.type === 'output.rejected' && event.purpose === undefined && event.told !== undefined)
      this.#add({ position, at, type: 'correction', text: event.told })
  }

  /** A picture has its data while there is room; a page of the server loads nothing from elsewhere. */
  #fileOf(file: FilePart): EntryFile {
    const label = fileLabel(file)
    if (!('data' in file) || !shownPictures.has(file.mediaType)) return { label }
    // a page that is said to be a picture is none
    if (typeOfData(file.data) !== file.mediaType) return { label }
    if (this.#pictures + file.data.length > picturesOfAll) return { label }
    this.#pictures += file.data.length
    return { label, picture: { mediaType: file.mediaType, data: file.data } }
  }

  #add({ text, value, ...entry }: ConversationEntry): void {
    this.entries.push({
      ...entry,
      ...(text === undefined ? {} : { text: cut(text, textOfEntry) as string }),
      ...(value === undefined ? {} : { value: cut(value, textOfEntry) }),
    })
  }
}

type EntryContent = Omit<ConversationEntry, 'position' | 'at'>

const asContent = (content: Json): Pick<EntryContent, 'text' | 'value'> =>
  typeof content === 'string' ? { text: content } : { value: content }

const idOf = ({ callId }: { readonly callId?: string }): Pick<EntryContent, 'callId'> =>
  callId === undefined ? {} : { callId }

const filesOf = (
  files: readonly FilePart[] | undefined,
  of: (file: FilePart) => EntryFile,
): Pick<EntryContent, 'files'> => (files === undefined || files.length === 0 ? {} : { files: files.map(of) })

function entriesOf(said: Spoken, fileOf: (file: FilePart) => EntryFile): readonly EntryContent[] {
  switch (said.type) {
    case 'assistant': {
      const { agent: name, text, calls = [], ran = [], sources } = said
      return [
        ...ran.flatMap(({ tool, input, isError, summary }): readonly EntryContent[] => [
          { type: 'tool-call', name: tool, value: input },
          { type: 'tool-result', name: tool, text: summary ?? '', ...present({ isError }) },
        ]),
        ...(text === '' && sources === undefined && said.files === undefined
          ? []
          : [{ type: 'assistant', name, text, ...filesOf(said.files, fileOf), ...present({ sources }) } as const]),
        ...calls.map(({ id: callId, name: tool, input }) => ({
          type: 'tool-call' as const,
          name: tool,
          callId,
          value: input,
        })),
      ]
    }
    case 'tool':
      return [
        {
          type: 'tool-result',
          name: said.tool,
          ...idOf(said),
          ...asContent(said.content),
          ...(said.isError === undefined ? {} : { isError: said.isError }),
          ...filesOf(said.files, fileOf),
        },
      ]
    case 'action':
      return [{ type: 'outcome', name: said.action.type, ...idOf(said), value: said.action }]
    case 'interrupt':
      return [{ type: 'question', ...asContent(said.question) }]
    case 'approval':
      return [{ type: 'question', name: said.tool, ...idOf(said), text: said.reason, value: said.input }]
    case 'error':
      return [{ type: 'outcome', name: 'failed', text: said.failure.message, isError: true }]
    case 'ended':
      return [{ type: 'outcome', name: said.outcome.status, value: said.outcome as unknown as Json }]
  }
}
