import Poller
import PollerIdentity
import PollerQueue
import PollerUpstreams
import Testing

@Suite("The source of a URL")
struct HTTPSourcesTests {
    private func source(_ name: String, _ url: String) throws -> HTTPSource {
        try HTTPSource(
            name: AccountID(name),
            url: url,
            status: JSONPointer("/state"),
            final: ["done"],
            timeout: .seconds(5),
            limit: .stripe
        )
    }

    private func sources() throws -> HTTPSources {
        HTTPSources([
            try source("bank", "https://Bank.example/payments/{id}?full=1"),
            try source("shop", "http://shop.example:8080/orders?id={id}"),
            try source("twin", "https://twin.example/x/{id}"),
            try source("other", "https://twin.example/x/{id}"),
        ])
    }

    @Test(
        "a URL of an upstream gives its name and the ID, however the host is written",
        arguments: [
            ("https://bank.example/payments/4711?full=1", "bank", "4711"),
            ("https://BANK.example:443/payments/a.b-c_d?full=1", "bank", "a.b-c_d"),
            ("http://shop.example:8080/orders?id=7", "shop", "7"),
        ]
    )
    func found(url: String, account: String, id: String) throws {
        let key = try sources().key(of: url, account: nil, among: .all)
        #expect(key.account.description == account)
        #expect(key.source.description == id)
        #expect(key.kind == .http)
        #expect(try sources().key(of: url, account: AccountID(account), among: .all) == key)
    }

    @Test(
        "any other URL is rejected, also one that resembles a configured one",
        arguments: [
            "https://bank.example.evil.example/payments/1?full=1",
            "https://evil.example/https://bank.example/payments/1?full=1",
            "https://bank.example/payments/../admin?full=1",
            "https://bank.example/payments/a/b?full=1",
            "https://bank.example/payments/a%2Fb?full=1",
            "https://bank.example/payments/..?full=1",
            "https://bank.example/payments/?full=1",
            "https://bank.example/payments/1",
            "https://bank.example/payments/1?full=1&admin=1",
            "https://bank.example/payments/1?full=1#x",
            "http://bank.example/payments/1?full=1",
            "https://bank.example:8443/payments/1?full=1",
            "https://user@bank.example/payments/1?full=1",
            "http://shop.example/orders?id=7",
            "http://169.254.169.254/latest/meta-data",
            "file:///etc/passwd", "mailto:a@b.example", "bank.example/payments/1", "",
        ]
    )
    func refused(url: String) throws {
        #expect(throws: InvalidInput.self) { try sources().key(of: url, account: nil, among: .all) }
    }

    @Test("a URL of two upstreams requires a matching account")
    func accounts() throws {
        let url = "https://twin.example/x/1"
        #expect(throws: InvalidInput.self) { try sources().key(of: url, account: nil, among: .all) }
        let key = try sources().key(of: url, account: AccountID("other"), among: .all)
        #expect(key.account.description == "other")
        // The upstreams of other accounts do not count.
        #expect(try sources().key(of: url, account: nil, among: .some([key.account])) == key)
        #expect(throws: InvalidInput.self) {
            try sources().key(of: url, account: AccountID("twin"), among: .some([key.account]))
        }
        for wrong in ["bank", "nobody"] {
            #expect(throws: InvalidInput.self) {
                try sources().key(of: url, account: AccountID(wrong), among: .all)
            }
        }
        #expect(throws: InvalidInput.self) {
            try HTTPSources([]).key(of: url, account: nil, among: .all)
        }
    }
}
