import type { StsAnswer } from '../../shared/ports.ts'

export const STS_NAMESPACE = 'https://sts.amazonaws.com/doc/2011-06-15/'

/** The fields of a caller in the answer of STS. */
export const usualCaller = {
  Arn: 'arn:aws:sts::111122223333:assumed-role/app/i-0123456789abcdef0',
  UserId: 'AROA0123456789EXAMPLE:i-0123456789abcdef0',
  Account: '111122223333',
}

export const resultOf = (fields: Record<string, string>): string =>
  `<GetCallerIdentityResult>${Object.entries(fields)
    .map(([name, text]) => `<${name}>${text}</${name}>`)
    .join('')}</GetCallerIdentityResult>`

/** Returns the XML document around a result of STS. */
export const responseOf = (inner: string, namespace = STS_NAMESPACE): string =>
  `<GetCallerIdentityResponse xmlns="${namespace}">
  ${inner}
  <ResponseMetadata><RequestId>01234567-89ab-cdef-0123-456789abcdef</RequestId></ResponseMetadata>
</GetCallerIdentityResponse>
`

/** Returns a complete answer of STS; a test can replace every part. */
export const stsAnswer = (
  fields: Record<string, string> = {},
  other: Partial<StsAnswer> = {},
): StsAnswer => ({
  status: 200,
  contentType: 'text/xml',
  body: responseOf(resultOf({ ...usualCaller, ...fields })),
  ...other,
})

export const stsError = (status: number, code: string): StsAnswer => ({
  status,
  contentType: 'text/xml',
  body: `<ErrorResponse xmlns="${STS_NAMESPACE}"><Error><Type>Sender</Type><Code>${code}</Code><Message>internal 10.0.0.1</Message></Error><RequestId>1</RequestId></ErrorResponse>`,
})
