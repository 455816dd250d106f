/**
 * Slack as a channel, and whatever takes messages as Slack's incoming webhooks do.
 *
 * Owns: the message. Does not own: its escape (slack-text.ts), the words (rendered-notice.ts), what an answer means
 * (post.ts), buttons that decide (slack-app/). It holds no button and no address that decides: a message is read by
 * previews, too.
 */
import { cut, duration, functionCheck, required, unchecked, wholeNumber, type Checks, type Json } from '@reeve/core'
import type { Channel, Notice } from '@reeve/oversight'
import { addressCheck, attemptsMost, mustBeOptionsOf } from './options.ts'
import { post, type Fetch } from './post.ts'
import { addressOf, quotation, renderNotice, type Link } from './rendered-notice.ts'
import { code, escaped, marked, plain, unlinked, within } from './slack-text.ts'

/** How a Slack channel is told. */
export interface SlackOptions {
  /** Of an incoming webhook. It is a secret, and is in no failure. */
  readonly webhookUrl: string
  /** The address of a page that shows the run. It must not decide anything when it is opened. Default: none. */
  readonly link?: Link
  /** Default `slack`. */
  readonly name?: string
  /** Milliseconds for one try. Default 10 seconds. */
  readonly timeoutMs?: number
  /** The maximum number of attempts, at most 5 minutes apart, while the request is open. Default 50: about 3 hours. */
  readonly attempts?: number
  /** Default: `fetch`. */
  readonly fetch?: Fetch
}

const checks: Checks<SlackOptions> = {
  webhookUrl: required(addressCheck),
  link: functionCheck,
  name: unchecked, // by the runtime
  timeoutMs: duration,
  attempts: wholeNumber(1),
  fetch: functionCheck,
}

/**
 * A channel that posts a message to an incoming webhook. It shows what is asked, the exact arguments and the commands
 * that decide; nothing in it decides. Slack knows no idempotency: a try that arrived, and whose answer did not, is seen
 * twice. Throws `config.invalid` for invalid options.
 */
export function slack(options: SlackOptions): Channel {
  mustBeOptionsOf('slack', options, checks)
  const { webhookUrl, link, name = 'slack', timeoutMs = 10_000, attempts = attemptsMost, fetch } = options
  return {
    name,
    timeoutMs,
    attempts,
    async notify(notice, io) {
      const body = JSON.stringify(slackMessage(notice, addressOf(link, notice)))
      await post({ address: webhookUrl, body, headers: { 'user-agent': 'reeve' }, fetch }, io)
    },
  }
}

/**
 * The message. Pure. `address`: of a page that shows. What a model wrote stands in plain texts and in code, and nowhere
 * else.
 */
export function slackMessage(notice: Notice, address: string | undefined): Json {
  const { title, reason, facts, input, commands } = renderNotice(notice)
  const look = address === undefined ? [] : [`<${escaped(address.replaceAll('|', '%7C'))}|Look at the run>`]
  return {
    // for notifications, and for those who know no blocks
    text: [
      within(unlinked(title), 300),
      code([quotation(reason), '', input, '', ...commands].join('\n'), 3_500),
      ...look,
    ].join('\n'),
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      { type: 'header', text: plain(cut(title, 150)) },
      // an empty text is refused
      ...(reason.trim() === '' ? [] : [{ type: 'section', text: plain(cut(reason, 2_900)) }]),
      { type: 'section', fields: facts.slice(0, 10).map(([name, value]) => plain(`${name}: ${value}`)) },
      { type: 'section', text: marked(code(input, 2_900)) },
      { type: 'section', text: marked(code(commands.join('\n'), 1_000)) },
      ...(look.length === 0 ? [] : [{ type: 'context', elements: look.map(marked) }]),
    ] as Json,
  }
}
