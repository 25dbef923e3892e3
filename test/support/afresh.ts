import { vi } from 'vitest'

// before each file: what an earlier one has started or changed in modules of the project is not there for this one
vi.resetModules()
