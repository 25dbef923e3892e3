import { describe, expect, test } from 'vitest'
import { ApiError } from '../../../shared/api/errors.ts'
import { readCallerIdentity } from '../../../shared/identity-proof/caller-identity.ts'
import type { StsAnswer } from '../../../shared/ports.ts'
import {
  responseOf,
  resultOf,
  STS_NAMESPACE,
  stsAnswer,
  stsError,
  usualCaller,
} from '../../builders/sts-answer.ts'

/** Returns the rule that an answer of STS violates, or `accepted`. */
function why(answer: StsAnswer): string {
  const read = readCallerIdentity(answer)
  return read.ok ? 'accepted' : read.fault.why
}

const body = (text: string) => stsAnswer({}, { body: text })
const usual = resultOf(usualCaller)

describe("the identity in STS's response", () => {
  test('an assumed role is read with its session name', () => {
    const value = {
      kind: 'principal',
      arn: usualCaller.Arn,
      account: '111122223333',
      canonicalArn: 'arn:aws:iam::111122223333:role/app',
      uniqueId: 'AROA0123456789EXAMPLE',
      entity: {
        type: 'assumed-role',
        partition: 'aws',
        account: '111122223333',
        name: 'app',
        path: '',
        session: 'i-0123456789abcdef0',
      },
    }
    expect(readCallerIdentity(stsAnswer())).toEqual({ ok: true, value })
  })

  test('a user is read with its path', () => {
    const user = { Arn: 'arn:aws-cn:iam::111122223333:user/a/b/bob', UserId: 'AIDA0123456789EXAMPLE' }
    expect(readCallerIdentity(stsAnswer(user))).toMatchObject({
      value: {
        uniqueId: 'AIDA0123456789EXAMPLE',
        entity: { type: 'user', partition: 'aws-cn', name: 'bob', path: 'a/b' },
      },
    })
  })

  test.each([
    ['root', 'arn:aws:iam::111122223333:root'],
    ['a federated user', 'arn:aws:sts::111122223333:federated-user/bob'],
    ['a role', 'arn:aws:iam::111122223333:role/app'],
    ['an instance profile', 'arn:aws:iam::111122223333:instance-profile/app'],
    ['a user of the service sts', 'arn:aws:sts::111122223333:user/bob'],
    ['an assumed role of the service iam', 'arn:aws:iam::111122223333:assumed-role/app/session'],
    ['an assumed role without session', 'arn:aws:sts::111122223333:assumed-role/app'],
    ['an assumed role without anything', 'arn:aws:sts::111122223333:assumed-role'],
    ['an assumed role with more than a session', 'arn:aws:sts::111122223333:assumed-role/app/session/x'],
    ['an ARN of colons only', ':::::'],
    ['an ARN of seven parts', 'arn:aws:iam::111122223333:user/bob:x'],
    ['an unknown partition', 'arn:aws-x:iam::111122223333:user/bob'],
    ['a name with a line break', 'arn:aws:iam::111122223333:user/bob\n'],
    ['a name with a wildcard', 'arn:aws:iam::111122223333:user/*'],
    ['an ARN after a space', ` ${usualCaller.Arn}`],
  ])('the ARN of %s cannot log in', (_, Arn) => {
    expect(why(stsAnswer({ Arn }))).toBe('principal-type')
  })

  test.each([
    ['no Arn', { Arn: '' }],
    ['no UserId', { UserId: '' }],
    ['no Account', { Account: '' }],
    ['a UserId with only a session', { UserId: ':session' }],
    ['an Account that differs from the ARN', { Account: '444455556666' }],
    ['an Account with a space', { Account: ' 111122223333' }],
  ])('a response with %s is rejected', (_, fields) => {
    expect(why(stsAnswer(fields))).toBe('sts-answer')
  })
})

describe('the XML document: CVE-2020-16250', () => {
  test.each([
    ['as STS writes it', responseOf(usual)],
    ['with a prolog', `<?xml version="1.0" encoding="UTF-8"?>\n${responseOf(usual)}`],
    ['with white space around', `\r\n\t ${responseOf(usual)}\n\n`],
  ])('the document is accepted %s', (_, text) => {
    expect(why(body(text))).toBe('accepted')
  })

  const evil = resultOf({ ...usualCaller, Account: '444455556666' })
  test.each([
    ['nothing', ''],
    ['JSON', JSON.stringify({ GetCallerIdentityResponse: { GetCallerIdentityResult: usualCaller } })],
    ['HTML', '<html><body>hello</body></html>'],
    ['text before it', `hello${responseOf(usual)}`],
    ['text after it', `${responseOf(usual)}hello`],
    ['a byte order mark', `\u{feff}${responseOf(usual)}`],
    ['a no-break space before it', `\u{a0}${responseOf(usual)}`],
    ['a second document', responseOf(usual) + responseOf(usual)],
    [
      'inside another document',
      `<AssumeRoleResponse xmlns="${STS_NAMESPACE}">${responseOf(usual)}</AssumeRoleResponse>`,
    ],
    [
      'inside another answer’s text',
      `<ErrorResponse xmlns="${STS_NAMESPACE}"><Error><Message>${usual}</Message></Error></ErrorResponse>`,
    ],
    ['under another root', responseOf(usual).replaceAll('CallerIdentityResponse', 'SessionTokenResponse')],
    ['without namespace', responseOf(usual).replace(/ xmlns="[^"]*"/, '')],
    ['in another namespace', responseOf(usual, 'https://sts.amazonaws.com/doc/2010-05-08/')],
    ['with a result in another namespace', responseOf(usual.replace('Result>', 'Result xmlns="x">'))],
    ['with a field in another namespace', responseOf(usual.replace('<Arn>', '<Arn xmlns="x">'))],
    ['with a prefix', responseOf(usual).replaceAll('Arn>', 'a:Arn>')],
    ['no result', responseOf('')],
    ['two results', responseOf(usual + usual)],
    ['two results, the second of somebody else', responseOf(usual + evil)],
    ['a field twice', responseOf(usual.replace('<Arn>', '<Arn>x</Arn><Arn>'))],
    ['fields outside the result', responseOf(usual.replaceAll('GetCallerIdentityResult', 'Other'))],
    [
      'fields one level too deep',
      responseOf(usual.replace('<Arn>', '<X><Arn>').replace('</Arn>', '</Arn></X>')),
    ],
    ['a field with children', responseOf(usual.replace('<Account>', '<Account><b>1</b>'))],
    ['a comment in a field', responseOf(usual.replace('assumed-role/', 'assumed-role/<!-- -->'))],
    ['a comment around', responseOf(`<!-- x -->${usual}`)],
    ['CDATA', responseOf(usual.replace('<Arn>', '<Arn><![CDATA[').replace('</Arn>', ']]></Arn>'))],
    ['a document type', `<!DOCTYPE x [<!ENTITY e "111122223333">]>${responseOf(usual)}`],
    ['an entity of its own', responseOf(usual.replace('111122223333</Account>', '&e;</Account>'))],
    [
      'the name of an object’s method as entity',
      responseOf(usual.replace('111122223333</Account>', '&constructor;</Account>')),
    ],
    ['a processing instruction', responseOf(`<?php x ?>${usual}`)],
    ['a control character', responseOf(usual.replace('app/', 'a\0pp/'))],
    ['UTF-16 for its encoding', `<?xml version="1.0" encoding="UTF-16"?>${responseOf(usual)}`],
    ['more than 64 KiB', responseOf(usual + ' '.repeat(65_536))],
  ])('the document is rejected: %s', (_, text) => {
    expect(why(body(text))).toBe('sts-answer')
  })

  test.each(['application/json', 'text/html', 'text/xml; charset=utf-8', 'TEXT/XML', ''])(
    'a document with the content type "%s" is rejected',
    contentType => {
      expect(why(stsAnswer({}, { contentType }))).toBe('sts-answer')
    },
  )

  test('predefined entities and character references are decoded', () => {
    const Arn = usualCaller.Arn.replace('app', '&#97;p&#x70;')
    expect(readCallerIdentity(stsAnswer({ Arn }))).toMatchObject({ value: { arn: usualCaller.Arn } })
  })
})

describe('error responses of STS', () => {
  const notAccepted =
    'STS answered that the request is not signed validly, or no longer: ' +
    'check the credentials, the clock and the region that it was signed for'

  test.each([
    [302, 'STS answered 302'],
    [400, notAccepted],
    [403, notAccepted],
    [404, notAccepted],
  ])('a valid document with status %i is rejected', (status, text) => {
    expect(readCallerIdentity(stsAnswer({}, { status }))).toMatchObject({
      fault: { why: 'sts-refused', text },
    })
  })

  test.each([
    [403, 'SignatureDoesNotMatch', { status: 403, code: 'SignatureDoesNotMatch' }],
    [403, 'ExpiredToken', { status: 403, code: 'ExpiredToken' }],
    [400, 'IncompleteSignature', { status: 400, code: 'IncompleteSignature' }],
    [400, 'MadeUpCode', { status: 400 }],
    [400, 'ExpiredToken<x/>', { status: 400 }],
  ])('%i %s gives clients one text, and the cause to administrators', (status, code, seen) => {
    const found = readCallerIdentity(stsError(status, code))
    const fault = { code: 'invalid_request', why: 'sts-refused', text: notAccepted, seen }
    expect(found).toEqual({ ok: false, fault })
  })

  test.each([
    [undefined, ''],
    [-300, ''],
    [300, ''],
    [301, '; by the server’s clock the request was signed 5 minutes ago, and STS takes 15 minutes'],
    [3725, '; by the server’s clock the request was signed 62 minutes ago, and STS takes 15 minutes'],
    [100_000, '; by the server’s clock the request was signed more than a day ago, and STS takes 15 minutes'],
    [-3725, '; by the server’s clock the request was signed 62 minutes ahead of time'],
  ])('for a request signed %s seconds ago the text mentions an age%s', (age, more) => {
    const found = readCallerIdentity(stsError(403, 'SignatureDoesNotMatch'), age)
    expect(found).toMatchObject({ fault: { text: `${notAccepted}${more}` } })
  })

  test('a response that is not XML is rejected, whatever its status', () => {
    expect(why({ status: 302, contentType: 'text/html', body: '<html/>' })).toBe('sts-answer')
  })

  test('the client gets no other text of an STS error', () => {
    expect(JSON.stringify(readCallerIdentity(stsError(403, 'AccessDenied')))).not.toContain('10.0.0.1')
  })

  test('an error document with status 200 is rejected', () => {
    expect(why(stsError(200, 'AccessDenied'))).toBe('sts-answer')
  })

  const failure = (answer: StsAnswer) => {
    try {
      return readCallerIdentity(answer)
    } catch (error) {
      return error instanceof ApiError ? [error.code, error.retryAfter, error.reason?.['why']] : error
    }
  }
  test.each([
    ['429', stsAnswer({}, { status: 429, contentType: 'text/html' }), ['busy', 1, 'throttled']],
    ['400 Throttling', stsError(400, 'Throttling'), ['busy', 1, 'throttled']],
    ['503 RequestLimitExceeded', stsError(503, 'RequestLimitExceeded'), ['busy', 1, 'throttled']],
    ['500', stsError(500, 'InternalFailure'), ['provider_failed', undefined, 'provider-failed']],
    [
      '502 of a proxy',
      { status: 502, contentType: 'text/html', body: '<html/>' },
      ['provider_failed', undefined, 'provider-failed'],
    ],
  ])('%s is a server error, not a client error', (_, answer, fault) => {
    expect(failure(answer)).toEqual(fault)
  })
})
