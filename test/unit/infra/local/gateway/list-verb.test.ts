import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  acceptListRequests,
  buildFlaggedGetLine,
  createRequestRewriter,
} from '../../../../../infra/local/gateway/list-verb.ts'

/** Returns the bytes that the HTTP parser receives when a client sends these chunks. */
const seen = (...pieces: string[]): string => {
  const rewrite = createRequestRewriter(buildFlaggedGetLine)
  const bytes = pieces.flatMap(piece => rewrite(Buffer.from(piece, 'latin1')))
  return Buffer.concat(bytes).toString('latin1')
}

const head = (line: string, ...headers: string[]) => `${[line, ...headers].join('\r\n')}\r\n\r\n`
const LIST = head('LIST /v1/x HTTP/1.1', 'Host: h')
const GET = head('GET /v1/x?list=true HTTP/1.1', 'Host: h')
const decoy = 'LIST /v1/y HTTP/1.1\r\n\r\n'

describe('the verb LIST on the embedded host', () => {
  test.each([
    ['a listing', LIST, GET],
    ['a listing after empty lines', `\r\n\r\n${LIST}`, `\r\n\r\n${GET}`],
    ['a query', head('LIST /v1/x?after=b HTTP/1.1'), head('GET /v1/x?list=true&after=b HTTP/1.1')],
    [
      'a flag of its own: the verb wins',
      head('LIST /v1/x?list=false HTTP/1.1'),
      head('GET /v1/x?list=true&list=false HTTP/1.1'),
    ],
    ['an empty query', head('LIST /v1/x? HTTP/1.1'), head('GET /v1/x?list=true HTTP/1.1')],
    ['two question marks', head('LIST /v1/x?a=?b HTTP/1.1'), head('GET /v1/x?list=true&a=?b HTTP/1.1')],
    ['bytes that are no ASCII', head('LIST /v1/\xe9 HTTP/1.1'), head('GET /v1/\xe9?list=true HTTP/1.1')],
    ['one after the other', LIST + LIST, GET + GET],
    [
      'one with a body',
      `${head('LIST /v1/x HTTP/1.1', 'Content-Length: 3')}abc${LIST}`,
      `${head('GET /v1/x?list=true HTTP/1.1', 'Content-Length: 3')}abc${GET}`,
    ],
  ])('becomes GET with list=true: %s', (_, sent, expected) => expect(seen(sent)).toBe(expected))

  test.each([
    ['other verbs', head('GET /v1/LIST HTTP/1.1') + head('DELETE /v1/x HTTP/1.1')],
    ['a verb that begins alike', head('LISTEN /v1/x HTTP/1.1')],
    ['the verb in lower case', head('list /v1/x HTTP/1.1')],
    ['a body of known length', head('POST /v1/x HTTP/1.1', `Content-Length: ${decoy.length}`) + decoy],
    [
      'a body in chunks',
      head('POST /v1/x HTTP/1.1', 'Transfer-Encoding: chunked') +
        `${decoy.length.toString(16)};ext=1\r\n${decoy}\r\n0\r\n\r\n`,
    ],
    [
      'chunks with trailers',
      head('POST /v1/x HTTP/1.1', 'Transfer-Encoding: chunked') +
        `3\r\nabc\r\n0\r\nTrailer: ${'LIST / HTTP/1.1'}\r\n\r\n`,
    ],
    ['a connection that is upgraded', head('GET / HTTP/1.1', 'Upgrade: websocket') + decoy],
    ['chunks of no length', `${head('POST /v1/x HTTP/1.1', 'Transfer-Encoding: chunked')}zz\r\n${decoy}`],
    ['a head without end', `GET / HTTP/1.1\r\nX: ${'x'.repeat(70_000)}`],
    [
      'a chunk’s length without end',
      head('POST / HTTP/1.1', 'Transfer-Encoding: chunked') + '0'.repeat(70_000),
    ],
  ])('requests with %s pass unchanged', (_, sent) => expect(seen(sent)).toBe(sent))

  test.each([
    ['of known length', head('POST /v1/x HTTP/1.1', `content-length:${decoy.length}`) + decoy],
    [
      'in chunks',
      `${head('POST /v1/x HTTP/1.1', 'transfer-encoding: gzip, chunked')}3\r\nabc\r\n4\r\nLIST\r\n0\r\n\r\n`,
    ],
    [
      'in chunks, with trailers',
      `${head('POST /v1/x HTTP/1.1', 'Transfer-Encoding: chunked')}0\r\na: b\r\n\r\n`,
    ],
  ])('after a body %s the next request is rewritten too', (_, sent) => {
    expect(seen(sent + LIST)).toBe(sent + GET)
  })

  test.each([
    ['a hello of TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['another verb', 'G'],
    ['a verb that begins as LIST', 'LISTE'],
    ['empty lines, and another verb', '\r\n\r\nG'],
  ])('a request with %s is not held back', (_, sent) => expect(seen(sent)).toBe(sent))

  test.each(['L', 'LIST', 'LIST ', '\r', '\r\n', '\r\nLI', 'LIST /v1/x HTTP/1.1\r\nHost: h\r\n'])(
    'a request that may become a listing is held until its head is complete: %o',
    sent => expect(seen(sent)).toBe(''),
  )

  test('the gateway passes the content of a chunk on at once', () => {
    const rewrite = createRequestRewriter(buildFlaggedGetLine)
    rewrite(Buffer.from(`${head('POST / HTTP/1.1', 'Transfer-Encoding: chunked')}fffffff\r\n`))
    expect(rewrite(Buffer.from('some of it')).join('')).toBe('some of it')
  })

  test("LIST becomes GET, whatever the split of the connection's bytes", () => {
    const requests = fc.array(
      fc.constantFrom(
        LIST,
        head('GET /v1/x HTTP/1.1'),
        head('POST / HTTP/1.1', `Content-Length: ${decoy.length}`) + decoy,
        `${head('POST / HTTP/1.1', 'Transfer-Encoding: chunked')}5\r\nLIST \r\n2\r\nab\r\n0\r\n\r\n`,
        `${head('PUT / HTTP/1.1', 'Transfer-Encoding: chunked')}0\r\nT: t\r\n\r\n`,
      ),
      { minLength: 1, maxLength: 4 },
    )
    fc.assert(
      fc.property(requests, fc.array(fc.nat({ max: 300 })), (sent, cuts) => {
        const all = sent.join('')
        const places = [...new Set([0, ...cuts.filter(cut => cut < all.length), all.length])].toSorted(
          (a, b) => a - b,
        )
        const pieces = places.slice(1).map((end, index) => all.slice(places[index], end))
        expect(seen(...pieces)).toBe(all.replaceAll(LIST, GET))
      }),
      { numRuns: 300 },
    )
  })
})

test('a kept-alive connection closes after the server’s idle timeout', async () => {
  const http = createServer({ keepAliveTimeout: 1 }, (_, response) => response.end('served'))
  http.keepAliveTimeoutBuffer = 0
  http.on('connection', socket => acceptListRequests(socket, buildFlaggedGetLine)).listen(0, '127.0.0.1')
  await once(http, 'listening')
  const client = connect((http.address() as AddressInfo).port, '127.0.0.1')
  const heard: Buffer[] = []
  client.on('data', chunk => heard.push(chunk))
  client.write(head('LIST /v1/x HTTP/1.1', 'Host: h'))
  await once(client, 'end')
  expect(Buffer.concat(heard).toString()).toMatch(/200 OK.*Connection: keep-alive.*served/s)
  client.destroy()
  http.close()
})
