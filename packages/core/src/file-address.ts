/**
 * File address: what Reeve takes where somebody else says where a file is.
 *
 * Owns: the one rule for addresses of files that callers, models and remote agents name: public `https:`, or `data:` in
 * base64. Pure. Does not own: fetching (Reeve fetches no file; providers and model functions may), the addresses of an
 * operator's own servers (MCP, telemetry, databases), which may be private.
 * Holds: an address that is taken names no host of a private network in any spelling. What a public name resolves to is
 * not known here: who fetches has to look at the address that it connects to, and at where it is redirected.
 */

import { base64Problem, mediaTypeIn } from './file-content.ts'

/** Where the content of a file is: in the address itself, or at a public address. */
export type FileSource =
  { readonly data: string; readonly mediaType: string } | { readonly url: string } | { readonly problem: string }

/** The longest address that is not data, in characters. */
const longestAddress = 8_192

/** The source that an address names. `problem`: why it is refused, as the end of a sentence about the address. */
export function fileSource(address: string): FileSource {
  if (/^data:/i.test(address)) return dataSource(address)
  if (address.length > longestAddress) return { problem: `is longer than ${longestAddress} characters` }
  const url = URL.parse(address)
  if (url === null) return { problem: 'is not an address' }
  if (url.protocol !== 'https:') return { problem: `has the scheme "${url.protocol}", expected "https:" or "data:"` }
  if (url.username !== '' || url.password !== '') return { problem: 'has a user name or a password in it' }
  return isPublicHost(url.hostname) ? { url: url.href } : { problem: 'names a host that is not public' }
}

function dataSource(address: string): FileSource {
  const comma = address.indexOf(',')
  const [type = '', ...parameters] = address.slice('data:'.length, Math.max(0, comma)).split(';')
  const data = address.slice(comma + 1)
  const isBase64 = comma > 0 && parameters.at(-1)?.trim().toLowerCase() === 'base64'
  const problem = isBase64 ? base64Problem(data) : 'is not data in base64'
  return problem === undefined ? { data, mediaType: mediaTypeIn(type) ?? 'application/octet-stream' } : { problem }
}

/** Top-level names of private networks and of this machine: RFC 6761, 6762 (appendix G) and 8375, and `internal`. */
const privateNames: ReadonlySet<string> = new Set(
  'localhost localdomain local internal intranet private corp home lan arpa'.split(' '),
)

/** Whether a host, as `URL.hostname` has it, is of the public network: any spelling of an address is normal there. */
export function isPublicHost(hostname: string): boolean {
  if (hostname.startsWith('[')) return isPublicIpv6(hostname.slice(1, -1))
  const labels = hostname.toLowerCase().replace(/\.$/, '').split('.')
  if (labels.length === 4 && labels.every((label) => /^\d{1,3}$/.test(label))) return isPublicIpv4(labels.map(Number))
  return labels.length > 1 && labels.every((label) => label !== '') && !privateNames.has(labels.at(-1)!)
}

/** Blocks that are not of the public network, as their first address and the length of the prefix: RFC 6890 and IANA. */
const privateIpv4: readonly (readonly [first: readonly number[], bits: number])[] = [
  [[0, 0, 0, 0], 8],
  [[10, 0, 0, 0], 8],
  [[100, 64, 0, 0], 10],
  [[127, 0, 0, 0], 8],
  // with the metadata services of clouds
  [[169, 254, 0, 0], 16],
  [[172, 16, 0, 0], 12],
  [[192, 0, 0, 0], 24],
  [[192, 0, 2, 0], 24],
  [[192, 88, 99, 0], 24],
  [[192, 168, 0, 0], 16],
  [[198, 18, 0, 0], 15],
  [[198, 51, 100, 0], 24],
  [[203, 0, 113, 0], 24],
  // the wire server of a cloud
  [[168, 63, 129, 16], 32],
  [[224, 0, 0, 0], 3],
]

const valueOf = (bytes: readonly number[]): number => bytes.reduce((sum, byte) => sum * 256 + byte, 0)

const isPublicIpv4 = (bytes: readonly number[]): boolean =>
  !privateIpv4.some(([first, bits]) => {
    const size = 2 ** (32 - bits)
    return Math.floor(valueOf(bytes) / size) === Math.floor(valueOf(first) / size)
  })

/** Of IPv6 only global unicast (2000::/3), without what stands for IPv4 addresses, tunnels and documentation. */
function isPublicIpv6(address: string): boolean {
  const [first = 0, second = 0] = groupsOf(address)
  if (first < 0x20_00 || first > 0x3f_ff || first === 0x20_02) return false
  if (first === 0x20_01) return second >= 0x02_00 && second !== 0x0d_b8
  return !(first === 0x3f_ff && second < 0x10_00)
}

/** The first two groups; `URL` writes an address in its shortest form. */
function groupsOf(address: string): readonly number[] {
  const [head = ''] = address.split('::')
  return head === '' ? [] : head.split(':').map((group) => Number.parseInt(group, 16))
}
