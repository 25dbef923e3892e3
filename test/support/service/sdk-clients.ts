// Loads the SDK's clients before any test: unbundled, they take longer to load than a login may take.
import '../../../shared/adapters/aws/access-keys.ts'
import '../../../shared/adapters/aws/describe-instances.ts'
import '../../../shared/adapters/aws/principals.ts'
import '../../../shared/adapters/aws/sessions.ts'
