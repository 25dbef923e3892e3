const wrapped = (text: string, width: number, end: string): string =>
  text.replace(new RegExp(`.{1,${width}}`, 'g'), `$&${end}`)

/**
 * Forms of Base64 texts that people produce, by the tool or the habit that makes the form. Short texts have a
 * line break inside, too.
 */
export const base64Forms: Readonly<Record<string, (base64: string) => string>> = {
  'lines of 76 with LF, as GNU base64': text => wrapped(text, 76, '\n'),
  'lines of 76 with CRLF, as MIME': text => wrapped(text, 76, '\r\n'),
  'lines of 64 with LF, as openssl': text => wrapped(text, 64, '\n'),
  'one LF at the end': text => `${text}\n`,
  'blanks where the lines ended': text => wrapped(text, 20, ' ').trim(),
  'indented lines': text => wrapped(text, 20, '\n').replace(/^/gm, '    '),
  tabs: text => wrapped(text, 20, '\t'),
}

/** Returns rows for `test.each`: a form's name, and a text in this form. */
export const inEachForm = (base64: string): [form: string, text: string][] =>
  Object.entries(base64Forms).map(([form, write]) => [form, write(base64)])
