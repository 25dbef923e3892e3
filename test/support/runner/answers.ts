import { afterAll, expect, inject } from 'vitest'

// a test looks at a part of an answer: the whole of it is held against the document of the interface
afterAll(async () => {
  const { takeFaults, tellAnswers } = await import('../service/contract.ts')
  const ground = inject('ground')
  if (ground) tellAnswers(ground.directory)
  expect(takeFaults(), 'answers that are not as the document of the interface has them').toEqual([])
})
