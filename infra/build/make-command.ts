import { buildPrograms } from './command.ts'

await buildPrograms()
