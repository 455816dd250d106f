/**
 * Networks: what of an address one customer of a provider has.
 *
 * Owns: the network by which callers without a credential are counted. Pure. Does not own: what is counted.
 */
import { isIPv6 } from 'node:net'

/**
 * The network of an address: of IPv6 the first 64 bits, in one spelling, since whoever has one such address has all of
 * them; an IPv4 address itself, also where it is mapped into IPv6. Anything else is returned as it is.
 */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address
  // without the zone; a URL has one spelling of each address
  const { hostname } = new URL(`http://[${address.replace(/%.*$/u, '')}]/`)
  const [head = [], tail] = hostname
    .slice(1, -1)
    .split('::')
    .map((half) => half.split(':').filter((group) => group !== ''))
  const groups =
    tail === undefined ? head : [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail]
  const isMapped = groups.slice(0, 6).join(':') === '0:0:0:0:0:ffff'
  if (!isMapped) return `${groups.slice(0, 4).join(':')}::/64`
  return groups
    .slice(6)
    .flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255])
    .join('.')
}
