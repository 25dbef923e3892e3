import { describe, expect, onTestFinished, test } from 'vitest'
import { type LinkFault, startLinkTap } from '../support/faults/link-tap.ts'
import { webServer } from '../support/service/server.ts'

/**
 * Starts a cluster that answers every call with its body, and a tap in front of it. Records the
 * calls.
 */
async function tapped() {
  const arrived: string[] = []
  const { url } = await webServer(onTestFinished, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      arrived.push(String(Buffer.concat(chunks)))
      response.end(`answer to ${Buffer.concat(chunks)}`)
    })
  })
  const tap = await startLinkTap(url)
  onTestFinished(() => tap.close())
  /** sends a call and returns the answer, or `lost` */
  const call = (body: string, path = '/link/Heartbeat'): Promise<string> =>
    fetch(`${tap.url}${path}`, { method: 'POST', body }).then(
      answer => answer.text().catch(() => 'lost'),
      () => 'lost',
    )
  return { tap, call, arrived }
}

describe('calls between clusters through the fault-injecting link tap', () => {
  test('pass unchanged without a fault', async () => {
    const { tap, call, arrived } = await tapped()
    expect(await call('a')).toBe('answer to a')
    expect({ arrived, calls: tap.calls() }).toEqual({ arrived: ['a'], calls: [{ path: '/link/Heartbeat' }] })
  })

  test.each<[fault: LinkFault, answer: string, arrived: string[]]>([
    [{ kind: 'drop-request' }, 'lost', []],
    [{ kind: 'drop-answer' }, 'lost', ['a']],
    [{ kind: 'duplicate' }, 'answer to a', ['a', 'a']],
    [{ kind: 'truncate', bytes: 3 }, 'lost', ['a']],
    [{ kind: 'delay', ms: 1 }, 'answer to a', ['a']],
  ])('suffer the fault %j exactly once', async (fault, answer, wanted) => {
    const { tap, call, arrived } = await tapped()
    tap.arrange(fault)
    expect(await call('a')).toBe(answer)
    expect(arrived).toEqual(wanted)
    expect(await call('b')).toBe('answer to b')
  })

  test('arrive after the next call when the tap reorders them', async () => {
    const { tap, call, arrived } = await tapped()
    tap.arrange({ kind: 'reorder' })
    const first = call('a')
    while (tap.calls().length === 0) await new Promise(resolve => setTimeout(resolve, 1))
    expect(await call('b')).toBe('answer to b')
    expect(await first).toBe('answer to a')
    expect(arrived).toEqual(['b', 'a'])
  })

  test.each<['there' | 'back' | 'both', string[]]>([
    ['there', []],
    ['both', []],
    ['back', ['a']],
  ])('are lost while the link is cut on the way %s, until the tap is healed', async (way, wanted) => {
    const { tap, call, arrived } = await tapped()
    tap.cut(way)
    expect(await call('a')).toBe('lost')
    expect(arrived).toEqual(wanted)
    tap.heal()
    expect(await call('b')).toBe('answer to b')
  })

  test('are hit by a fault as often as arranged', async () => {
    const { tap, call } = await tapped()
    tap.arrange({ kind: 'drop-answer', times: 2 })
    expect(await call('b')).toBe('lost')
    expect(await call('c')).toBe('lost')
    expect(await call('d')).toBe('answer to d')
  })
})
