import Poller
import PollerTesting
import Testing

@Suite("Secrets of inline webhooks")
struct InlineSecretsTests {
    private let main = WebhookSecret.sample
    private let acme = AccountID(unchecked: "acme")

    @Test("each account has its own; the default one's stays as it was")
    func accounts() {
        let secrets = InlineSecrets(main: main, root: Array(0..<32), sharedUntil: VirtualTime.start)
        let others = InlineSecrets(main: main, root: Array(1..<33), sharedUntil: VirtualTime.start)
        #expect(secrets.secret(of: .main) == main)
        #expect(secrets.secret(of: acme) != main)
        #expect(secrets.secret(of: acme) != secrets.secret(of: AccountID(unchecked: "acm")))
        #expect(secrets.secret(of: acme) == secrets.secret(of: acme))
        #expect(secrets.secret(of: acme) != others.secret(of: acme))
    }

    @Test("where one signed for all, it goes on beside the account's own until its time")
    func overlap() {
        let end = VirtualTime.start
        let secrets = InlineSecrets(main: main, root: Array(0..<32), sharedUntil: end)
        let own = secrets.secret(of: acme)
        #expect(secrets.signing(for: acme, at: end + .seconds(-1)) == [own, main])
        #expect(secrets.signing(for: acme, at: end) == [own])
        #expect(secrets.signing(for: .main, at: end + .seconds(-1)) == [main])
        #expect(InlineSecrets(forAll: main).signing(for: acme, at: end) == [main])
    }
}

extension WebhookSecret {
    fileprivate static var sample: WebhookSecret {
        var chance = SystemRandomNumberGenerator()
        return WebhookSecret(using: &chance)
    }
}
