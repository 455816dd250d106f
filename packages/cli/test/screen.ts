/**
 * What somebody sees who sits at a terminal: enough of one to follow what programs write to move the cursor, erase and
 * hide. After a line of full width the cursor stands on its last character until more is written, as that of xterm.
 */
export function screenOf(bytes: string, columns = Infinity): string[] {
  const lines = ['']
  let row = 0
  let column = 0
  let isHidden = false
  const put = (char: string): void => {
    if (column >= columns) {
      row++
      column = 0
    }
    while (lines.length <= row) lines.push('')
    const line = lines[row]!.padEnd(column)
    lines[row] = line.slice(0, column) + (isHidden ? ' ' : char) + line.slice(column + 1)
    column++
  }
  for (let at = 0; at < bytes.length;) {
    // eslint-disable-next-line no-control-regex
    const control = /^\u001b\[([0-9;?]*)([A-Za-z])/.exec(bytes.slice(at, at + 40))
    // eslint-disable-next-line no-control-regex
    const operatingSystemCommand = /^\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)/
    const command = control === null ? operatingSystemCommand.exec(bytes.slice(at, at + 400)) : null
    const number = Number(control?.[1] ?? '') || 0
    if (control !== null) {
      const verb = control[2]
      if (verb === 'K' || verb === 'J') column = Math.min(column, columns - 1)
      if (verb === 'A') row = Math.max(0, row - Math.max(1, number))
      else if (verb === 'B') row += Math.max(1, number)
      else if (verb === 'G') column = Math.max(1, number) - 1
      else if (verb === 'H') row = column = 0
      else if (verb === 'K') lines[row] = number === 2 ? '' : (lines[row] ?? '').slice(0, column)
      else if (verb === 'J' && number === 2) lines.splice(0, lines.length, '')
      else if (verb === 'J') lines.splice(row, lines.length, (lines[row] ?? '').slice(0, column))
      else if (verb === 'm') isHidden = number === 8 || (isHidden && number !== 0 && number !== 28)
      at += control[0].length
    } else if (command !== null) at += command[0].length
    else {
      const char = bytes[at++]!
      if (char === '\n') row++
      else if (char === '\r') column = 0
      else if (char === '\b') column = Math.max(0, column - 1)
      else if (char >= ' ') put(char)
    }
  }
  return lines
}
