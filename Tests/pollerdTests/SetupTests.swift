import Foundation
import PollerPayments
import PollerQueue
import Testing

@testable import pollerd

@Suite("Configuration from files and tools")
struct SetupTests {
    private func settings(
        _ environment: [String: String],
        file: String? = nil
    ) throws -> Settings {
        let source = ConfigurationSource(flags: [:], environment: environment, file: file)
        return try Settings(try source.read().configuration.get())
    }

    private func mistake(_ environment: [String: String], file: String? = nil) -> String {
        do {
            _ = try settings(environment, file: file)
            return ""
        } catch {
            return "\(error)"
        }
    }

    @Test(
        "quotation marks left around a value by a tool are rejected with advice",
        arguments: [
            ("STRIPE_API_KEY", "\"sk_test_abc\""), ("STRIPE_WEBHOOK_SECRET", "'whsec_abc'"),
            ("POLLER_LEASE", "'15s'"), ("POLLER_REDIS_URL", "\"redis://127.0.0.1:6379/0\""),
            ("POLLER_MASTER_KEY", "\"00\""), ("POLLER_MAIL_FROM", "\"Shop <a@b.example>\""),
        ]
    )
    func quoted(variable: String, value: String) {
        let message = mistake([variable: value])
        #expect(message.contains(variable) && message.contains("in quotation marks"), "\(message)")
        #expect(!message.contains(value))
    }

    @Test("quotation marks inside a sender are accepted")
    func sender() throws {
        let environment = [
            "POLLER_MAIL_FROM": "\"Shop\" <a@b.example>", "POLLER_SMTP_URL": "smtp://127.0.0.1:25",
        ]
        #expect(try settings(environment).mail != nil)
    }

    @Test("processes differ by the mail relay in use, not by the one of a reloaded file")
    func capabilities() throws {
        let none = try settings([:])
        let relay = try settings([
            "POLLER_MAIL_FROM": "a@b.example", "POLLER_SMTP_URL": "smtp://127.0.0.1:25",
        ])
        #expect(relay.served(sendsMail: false) == none.served(sendsMail: false))
        #expect(relay.served(sendsMail: true) != none.served(sendsMail: false))
    }

    @Test("a byte order mark is rejected in secrets and ignored in the configuration file")
    func marks() throws {
        let mark = "begins with a byte order mark"
        #expect(mistake(["STRIPE_API_KEY": "\u{FEFF}sk_test_abc"]).contains(mark))
        try withFile("\u{FEFF}sk_test_abc\n") { path in
            #expect(mistake(["STRIPE_API_KEY_FILE": path]).contains(mark))
        }
        try withFile("'sk_test_abc'\n") { path in
            #expect(mistake(["STRIPE_API_KEY_FILE": path]).contains("in quotation marks"))
        }
        try withFile("\u{FEFF}lane_rate: 7\r\n") { path in
            let made = try settings([:], file: path)
            #expect(made.lane.ratePerSecond == 7)
        }
    }

    @Test("variables named by sections have the same checks")
    func sections() throws {
        let file = "accounts: {acct_1: {stripe_api_key: {env: ACME}}}\n"
        try withFile(file) { path in
            #expect(mistake(["ACME": "\"sk_test_1\""], file: path).contains("in quotation marks"))
            #expect(mistake(["ACME": "sk_test_1"], file: path) == "")
        }
    }

    @Test(
        "final statuses that no response can match are rejected, and other texts are accepted",
        arguments: [
            (#"["Payment received", "überwiesen", "paid/settled", "已付款"]"#, ""),
            (
                "[\"\(String(repeating: "x", count: 65))\"]",
                "final has a status that no response can match"
            ),
            (#"["a\u0007b"]"#, "final has a status that no response can match"),
            ("[null, paid]", "has no value"), ("[~]", "has no value"), (#"["null"]"#, ""),
        ]
    )
    func statuses(final: String, message: String) throws {
        let file = """
            upstreams:
              bank:
                url: https://bank.example.com/p/{id}
                status: /s
                final: \(final)
                payment: {state: {map: {"Payment received": paid, "已付款": paid}}}

            """
        try withFile(file) { path in
            let found = mistake([:], file: path)
            #expect(message.isEmpty ? found.isEmpty : found.contains(message), "\(found)")
        }
    }

    @Test("POLLER_CA_FILE precedes SSL_CERT_FILE, and the file must contain a certificate")
    func authorities() throws {
        #expect(try settings([:]).authorities == nil)
        #expect(
            mistake(["POLLER_CA_FILE": "/nowhere/ca.pem"]).contains("cannot be read at /nowhere")
        )
        try withFile("no certificate\n") { path in
            #expect(mistake(["SSL_CERT_FILE": path]).contains("holds no certificate"))
            #expect(mistake(["POLLER_CA_FILE": path]).contains("POLLER_CA_FILE"))
        }
    }

    @Test("POLLER_BASE_PATH precedes the path of the public URL")
    func basePath() throws {
        #expect("\(try settings([:]).basePath)" == "")
        let url = ["POLLER_PUBLIC_URL": "https://ops.example/poller"]
        #expect("\(try settings(url).basePath)" == "/poller")
        let both = url.merging(["POLLER_BASE_PATH": "/ops/"]) { $1 }
        #expect("\(try settings(both).basePath)" == "/ops")
        #expect(mistake(["POLLER_BASE_PATH": "//x"]).contains("POLLER_BASE_PATH"))
        #expect(
            try settings(["POLLER_TRUSTED_PROXIES": "10.0.0.5, 10.1.0.0/16"]).proxies.count == 2
        )
    }

    private func withFile(_ text: String, _ body: (String) throws -> Void) throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("setup-\(UUID())")
        try Data(text.utf8).write(to: url)
        defer { try? FileManager.default.removeItem(at: url) }
        try body(url.path)
    }
}
