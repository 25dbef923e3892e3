/** The fields of a well-made identity document. */
export const usualDocument = {
  accountId: '111122223333',
  imageId: 'ami-0123456789abcdef0',
  instanceId: 'i-0123456789abcdef0',
  pendingTime: '2026-03-01T10:20:30Z',
  region: 'eu-west-1',
  version: '2017-09-30',
}

/** Returns the text of an identity document without the fields that are undefined. */
export const documentText = (fields: Record<string, unknown> = {}): string =>
  JSON.stringify({ ...usualDocument, ...fields })
