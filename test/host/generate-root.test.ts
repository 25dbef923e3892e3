import { expect, test } from 'vitest'
import { api, cluster } from '../support/service/cluster.ts'

/** Starts a root generation, and cancels attempts that other tests have left. */
async function begun(): Promise<{ nonce: string; otp: string }> {
  for (;;) {
    await api('DELETE', '/sys/generate-root/attempt', undefined, { token: '' })
    const { status, body } = await api(
      'PUT',
      '/sys/generate-root/attempt',
      { otp: '', pgp_key: '' },
      { token: '' },
    )
    if (status === 200) return body
    if (status === 429) await new Promise(resolve => setTimeout(resolve, 1000))
  }
}

// sends the requests of Vault's command line, each share from another operator
test('concurrent shares that reach different environments all count, and generate one root token', async () => {
  const { nonce, otp } = await begun()
  const required = cluster.recovery_keys.slice(0, 3)
  const give = (share: string) =>
    api('PUT', '/sys/generate-root/update', { key: share, nonce }, { token: '' })
  const replies = await Promise.all(required.map(give))
  expect(replies.map(({ status, text }) => `${status} ${status === 200 ? '' : text}`)).toEqual(
    Array(3).fill('200 '),
  )
  expect(replies.map(({ body }) => body.progress).sort()).toEqual([1, 2, 3])
  const [encoded, ...others] = replies.map(({ body }) => body.encoded_token).filter(text => text !== '')
  expect(others).toEqual([])
  const token = Buffer.from(
    Buffer.from(encoded, 'base64').map((byte, at) => byte ^ otp.charCodeAt(at)),
  ).toString()
  const { body } = await api('GET', '/auth/token/lookup-self', undefined, { token })
  expect(body.data).toMatchObject({ policies: ['root'], ttl: 0 })
  await api('POST', '/auth/token/revoke-self', undefined, { token })
})
