/**
 * File arguments: tools that take files of the conversation by name, where it has any.
 *
 * Owns: which form of a tool is offered. Does not own: what a name finds (core), what a tool does with a file. A
 * conversation without files is offered what it always was.
 */
import type { ToolSpec } from '@reeve/model'
import type { ConversationState } from '../conversation/conversation-state.ts'
import type { Binding, Opening, Toolbox } from './binding.ts'
import type { Tool } from './tool.ts'

/** The opening of an agent whose tools take files: they do once there is one, and each file has its label. */
export const withFileArguments = (opening: Opening, tools: readonly Tool[], state: ConversationState): Opening =>
  tools.some(takesFiles)
    ? { ...opening, toolbox: new FilesToolbox(opening.toolbox, state), labelsFiles: true }
    : opening

const takesFiles = ({ work }: Tool): boolean => work.kind === 'agent' && work.withFiles !== undefined

/** Its list is the same object as long as the inner one is, and until the first file comes. */
class FilesToolbox implements Toolbox {
  readonly #inner: Toolbox
  readonly #state: ConversationState
  #known: readonly ToolSpec[] | undefined
  #specs: readonly ToolSpec[] = []

  constructor(inner: Toolbox, state: ConversationState) {
    this.#inner = inner
    this.#state = state
  }

  get specs(): readonly ToolSpec[] {
    const { specs } = this.#inner
    if (this.#state.files.size === 0) return specs
    if (specs !== this.#known) {
      this.#known = specs
      this.#specs = specs.map((spec) => this.#inner.find(spec.name)?.filesSpec ?? spec)
    }
    return this.#specs
  }

  find(name: string): Binding | undefined {
    return this.#inner.find(name)
  }
}
