import { afterAll, expect, inject } from 'vitest'

// tests assert only parts of an answer; here the whole answer is checked against the OpenAPI document
afterAll(async () => {
  const { takeFaults, tellAnswers } = await import('../service/contract.ts')
  const ground = inject('ground')
  if (ground) tellAnswers(ground.directory)
  expect(takeFaults(), 'answers that are not as the document of the interface has them').toEqual([])
})
