import { GetCallerIdentityCommand } from '@aws-sdk/client-sts'
import { describe, expect, test } from 'vitest'
import { account, clientsOf, provider, providerWithUser, region } from './clients.ts'
import { basicDate, callerIdentityPost, signHeaders, type TestKey } from './hand-signer.ts'
import { element, send } from './send.ts'

const regionalHost = `sts.${region}.amazonaws.com`
const signing = (key: TestKey, more: object = {}) => ({
  key,
  region,
  service: 'sts',
  date: basicDate(),
  ...more,
})

describe('GetCallerIdentity', () => {
  test('returns the ARN of a user with path, ID and account', async () => {
    const { url, user, key } = await providerWithUser()
    const { $metadata, ...answer } = await clientsOf(url, key).sts.send(new GetCallerIdentityCommand())
    expect(answer).toEqual({
      Arn: `arn:aws:iam::${account}:user/team/bob`,
      UserId: user.userId,
      Account: account,
    })
    expect(user.userId).toMatch(/^AIDA[A-Z2-7]{17}$/)
    expect($metadata.requestId).toMatch(/^[0-9a-f-]{36}$/)
  })

  test('returns the assumed-role ARN of a session without the role’s path, and `id:session`', async () => {
    const { url, control } = await provider()
    const role = await control.putRole({ account, name: 'app', path: '/deep/er/' })
    const session = await control.session({ account, role: 'app', session: 'i-0123456789abcdef0' })
    const answer = await clientsOf(url, session).sts.send(new GetCallerIdentityCommand())
    expect(answer).toMatchObject({
      Arn: `arn:aws:sts::${account}:assumed-role/app/i-0123456789abcdef0`,
      UserId: `${role.roleId}:i-0123456789abcdef0`,
      Account: account,
    })
    expect(session.arn).toBe(answer.Arn)
    expect(role.arn).toBe(`arn:aws:iam::${account}:role/deep/er/app`)
  })

  test('returns the ARN of the account for the root user', async () => {
    const { url, control } = await provider()
    const answer = await clientsOf(url, await control.rootKey({ account })).sts.send(
      new GetCallerIdentityCommand(),
    )
    expect(answer).toMatchObject({ Arn: `arn:aws:iam::${account}:root`, UserId: account })
  })

  test('cannot be denied', async () => {
    const { url, control, user, key } = await providerWithUser()
    await control.deny({ principalArn: user.arn, action: 'sts:*' })
    await expect(clientsOf(url, key).sts.send(new GetCallerIdentityCommand())).resolves.toMatchObject({
      Account: account,
    })
  })

  test('answers text/xml in the namespace of STS, with the nesting of AWS', async () => {
    const { url, key, user } = await providerWithUser()
    const answer = await send(url, signHeaders(callerIdentityPost(regionalHost), signing(key)))
    expect(answer.status).toBe(200)
    expect(answer.headers['content-type']).toBe('text/xml')
    const id = answer.headers['x-amzn-requestid']
    expect(answer.body).toBe(
      [
        '<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">',
        '  <GetCallerIdentityResult>',
        `    <Arn>${user.arn}</Arn>`,
        `    <UserId>${user.userId}</UserId>`,
        `    <Account>${account}</Account>`,
        '  </GetCallerIdentityResult>',
        '  <ResponseMetadata>',
        `    <RequestId>${id}</RequestId>`,
        '  </ResponseMetadata>',
        '</GetCallerIdentityResponse>',
        '',
      ].join('\n'),
    )
  })

  test('answers JSON of the same nesting to `Accept: application/json` (CVE-2020-16250)', async () => {
    const { url, key, user } = await providerWithUser()
    const request = callerIdentityPost(regionalHost, [['Accept', 'application/json']])
    const answer = await send(url, signHeaders(request, signing(key)))
    expect(answer.headers['content-type']).toBe('application/json')
    expect(JSON.parse(answer.body)).toMatchObject({
      GetCallerIdentityResponse: {
        GetCallerIdentityResult: { Arn: user.arn, UserId: user.userId, Account: account },
        ResponseMetadata: { RequestId: answer.headers['x-amzn-requestid'] },
      },
    })
  })
})

describe('refusals of STS', () => {
  test.each([
    ['SignatureDoesNotMatch', (key: TestKey) => ({ ...key, secretAccessKey: `${key.secretAccessKey}x` })],
    ['InvalidClientTokenId', (key: TestKey) => ({ ...key, accessKeyId: 'AKIAUNKNOWNUNKNOWN00' })],
    ['InvalidClientTokenId', (key: TestKey) => ({ ...key, sessionToken: 'bm90IGEgdG9rZW4=' })],
  ])('%s for wrong key %$', async (code, change) => {
    const { url, key } = await providerWithUser()
    const failed = clientsOf(url, change(key)).sts.send(new GetCallerIdentityCommand())
    await expect(failed).rejects.toMatchObject({ name: code, $metadata: { httpStatusCode: 403 } })
  })

  test('a session key without its session token, or with an altered or foreign session token, is refused', async () => {
    const { url, control } = await provider()
    await control.putRole({ account, name: 'app' })
    const [one, other] = [
      await control.session({ account, role: 'app', session: 'one' }),
      await control.session({ account, role: 'app', session: 'other' }),
    ]
    const { sessionToken, ...rest } = one
    const flipped = sessionToken.replace(/^./, first => (first === 'A' ? 'B' : 'A'))
    for (const key of [
      rest,
      { ...rest, sessionToken: flipped },
      { ...rest, sessionToken: `${sessionToken}=` },
      { ...rest, sessionToken: other.sessionToken },
    ]) {
      await expect(clientsOf(url, key).sts.send(new GetCallerIdentityCommand())).rejects.toMatchObject({
        name: 'InvalidClientTokenId',
      })
    }
  })

  test('an expired session is ExpiredToken, and a session of a recreated role is unknown', async () => {
    const { url, control } = await provider()
    const first = await control.putRole({ account, name: 'app' })
    const key = await control.session({ account, role: 'app', session: 'one', ttlSeconds: 900 })
    await control.advance({ seconds: 901 })
    const late = signing(key, { date: basicDate(Date.now() + 901_000) })
    const expired = await send(url, signHeaders(callerIdentityPost(regionalHost), late))
    expect([expired.status, element(expired.body, 'Code')]).toEqual([403, 'ExpiredToken'])
    await control.deleteRole({ account, name: 'app' })
    expect((await control.putRole({ account, name: 'app' })).roleId).not.toBe(first.roleId)
    const unknown = await send(url, signHeaders(callerIdentityPost(regionalHost), late))
    expect(element(unknown.body, 'Code')).toBe('InvalidClientTokenId')
  })

  test('have the error envelope of STS', async () => {
    const { url } = await provider()
    const answer = await send(url, callerIdentityPost(regionalHost))
    expect(answer.status).toBe(403)
    expect(answer.headers['content-type']).toBe('text/xml')
    expect(answer.body).toBe(
      [
        '<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">',
        '  <Error>',
        '    <Type>Sender</Type>',
        '    <Code>MissingAuthenticationToken</Code>',
        '    <Message>Request is missing Authentication Token</Message>',
        '  </Error>',
        `  <RequestId>${answer.headers['x-amzn-requestid']}</RequestId>`,
        '</ErrorResponse>',
        '',
      ].join('\n'),
    )
  })

  test.each([
    ['Action=GetSessionToken&Version=2011-06-15', 'InvalidAction'],
    ['Action=GetCallerIdentity', 'InvalidAction'],
    ['Action=GetCallerIdentity&Version=2011-06-15&Version=2011-06-15', 'MalformedQueryString'],
    ['Version=2011-06-15', 'InvalidAction'],
    ['%zz', 'InvalidAction'],
  ])('a signed body %s is %s', async (body, code) => {
    const { url, key } = await providerWithUser()
    const answer = await send(url, signHeaders({ ...callerIdentityPost(regionalHost), body }, signing(key)))
    expect([answer.status, element(answer.body, 'Code')]).toEqual([400, code])
  })

  test('a signed body without the content type of a form is InvalidAction', async () => {
    const { url, key } = await providerWithUser()
    const headers: [string, string][] = [
      ['Host', regionalHost],
      ['Content-Type', 'text/plain'],
    ]
    const answer = await send(
      url,
      signHeaders({ ...callerIdentityPost(regionalHost), headers }, signing(key)),
    )
    expect([answer.status, element(answer.body, 'Code')]).toEqual([400, 'InvalidAction'])
  })

  test('a forwarded request with another body is SignatureDoesNotMatch', async () => {
    const { url, key } = await providerWithUser()
    const request = signHeaders(callerIdentityPost(regionalHost), signing(key))
    const answer = await send(url, { ...request, body: `${request.body}&X=1` })
    expect([answer.status, element(answer.body, 'Code')]).toEqual([403, 'SignatureDoesNotMatch'])
  })
})
