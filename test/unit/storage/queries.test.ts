import { expect, test } from 'vitest'
import { buildPartitionQuery } from '../../../shared/storage/queries.ts'

// DynamoDB refuses "sk > :after" with an empty name; the local engine accepts it
test.each([
  ['no name', {}, 'pk = :pk', { ':pk': 'p' }],
  ['an empty name', { after: '' }, 'pk = :pk', { ':pk': 'p' }],
  ['a name', { after: 'n' }, 'pk = :pk AND sk > :after', { ':pk': 'p', ':after': 'n' }],
])('a page after %s', (_, page, KeyConditionExpression, ExpressionAttributeValues) => {
  expect(buildPartitionQuery({ data: 'data', cluster: 'cluster' }, 'role', 'p', page)).toMatchObject({
    KeyConditionExpression,
    ExpressionAttributeValues,
  })
})
