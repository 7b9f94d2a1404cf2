import Poller
import PollerIdentity
import Testing

@Suite("Secrets of inline webhooks")
struct InlineSecretsTests {
    private let main = WebhookSecret.sample
    private let acme = AccountID(unchecked: "acme")

    @Test("each account has its own; the default one's stays as it was")
    func accounts() {
        let secrets = InlineSecrets(main: main, root: Array(0..<32))
        let others = InlineSecrets(main: main, root: Array(1..<33))
        #expect(secrets.secret(of: .main) == main)
        #expect(secrets.secret(of: acme) != main)
        #expect(secrets.secret(of: acme) != secrets.secret(of: AccountID(unchecked: "acm")))
        #expect(secrets.secret(of: acme) == secrets.secret(of: acme))
        #expect(secrets.secret(of: acme) != others.secret(of: acme))
    }
}

extension WebhookSecret {
    fileprivate static var sample: WebhookSecret {
        var chance = SystemRandomNumberGenerator()
        return WebhookSecret(using: &chance)
    }
}
