/**
 * Networks: under what a caller is counted of whom nothing but an address is known.
 *
 * Owns: the network of an address. Pure. Does not own: what is counted (guesses.ts, rate-limit.ts, denials.ts).
 * Holds: one machine is one network: of IPv6 it has at least a /64, with more addresses than anything could count.
 */

/**
 * The network of an address: of IPv6 its first 64 bits, of IPv4 the address itself, also where it is mapped into IPv6.
 * What is no address stays as it is.
 */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  // the zone of a link-local address says which interface, not who
  const host = URL.parse(`http://[${address.replace(/%.*$/s, '')}]`)?.hostname
  if (host === undefined) return address
  const [head = [], tail = []] = host.slice(1, -1).split('::').map(groupsIn)
  const groups = [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => 0), ...tail]
  const [high = 0, low = 0] = groups.slice(6)
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xff_ff)
    return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.')
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`
}

const groupsIn = (part: string): readonly number[] =>
  part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))
