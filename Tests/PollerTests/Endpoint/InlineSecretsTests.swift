import PollerDeliveries
import PollerIdentity
import Testing

@Suite("Inline webhook secrets")
struct InlineSecretsTests {
    private let main = WebhookSecret.sample
    private let acme = AccountID(unchecked: "acme")

    @Test("each account has its own secret, and the default account keeps the main secret")
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
        var generator = SystemRandomNumberGenerator()
        return WebhookSecret(using: &generator)
    }
}
