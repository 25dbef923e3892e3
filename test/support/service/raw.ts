import { connect } from 'node:net'
import { cluster } from './cluster.ts'

/** Returns the answer to a request that a test writes byte by byte, as no HTTP client would send it. */
export async function raw(
  lines: readonly string[],
  body: string | Buffer = '',
): Promise<{ status: number; text: string }> {
  const head = [...lines, 'Host: x', 'Connection: close', '', ''].join('\r\n')
  const answer = await conversation(head, body)
  const [top = '', ...rest] = answer.split('\r\n\r\n')
  return { status: Number(top.split(' ')[1]), text: rest.join('\r\n\r\n') }
}

/** Reads from a connection until the server closes it. */
export function conversation(...sent: (string | Buffer)[]): Promise<string> {
  const { hostname, port } = new URL(cluster.base_url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', reject)
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('utf8')))
    for (const part of sent) socket.write(part)
  })
}
