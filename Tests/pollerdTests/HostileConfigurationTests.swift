import ArgumentParser
import Foundation
import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches
import Testing
import Yams

@testable import pollerd

@Suite("Invalid configuration values")
struct HostileConfigurationTests {
    private static let values = [
        "-9223372036854775808", "9223372036854775807", "-1", "0", "9007199254740992", "1e308",
        "-1e400", "9223372036854775808", "18446744073709551616", ".inf", ".nan", "nan", "inf",
        "0x7fffffffffffffff", "9223372036854775807d", "9223372036854775807ms", "-1s", "106751d",
        "", " ", ",", "=", "a=", "=a", "://", "redis://h?=", "http://h:99999999999999999999/",
        "1.2.3.4/99999999999999999999", "::/-1", "\u{301}", "x\u{0}y",
    ]

    /// Covers each option of the table, and therefore every new one.
    @Test(
        "any value of any option gives a clear error or usable settings",
        arguments: pollerd.Option.all.map(\.key)
    )
    func options(_ key: String) {
        for value in Self.values {
            let source = ConfigurationSource(flags: [key: value], environment: [:], file: nil)
            use(source, "\(key)=\(value)")
        }
    }

    /// Covers each form of a pair on the command line.
    @Test("any value of `--set` gives a clear error or usable settings")
    func flags() {
        for value in Self.values {
            for setting in [value, "=\(value)", "lease=\(value)", "\(value)=\(value)"] {
                let flags = try? Flags.parse(["--set=\(setting)"])
                guard let source = try? flags?.source() else { continue }
                use(source, setting)
            }
        }
    }

    /// A file with every member of every section.
    private static let whole = """
        lane_rate: 20
        accounts:
          acme:
            stripe_api_key: {env: K}
            webhook_secrets: {env: W}
            connected: [acct_1]
            charge: {description: Acme order, statement_descriptor: ACME, metadata: {shop: north}}
            refund_duplicates: true
            authorisation: capture
            abandoned: cancel
            branding: {name: Acme, url: https://s.example, support: h@s.example, colour: "#336699", logo: https://s.example/l.png, language: de, time_zone: Europe/Berlin, mail_from: Acme <pay@s.example>, account_holder: Acme GmbH}
            limits: {watches: 50000, endpoints: 20}
        upstreams:
          bank:
            url: https://bank.example.com/payments/{id}
            status: /payment/state
            final: [settled, rejected]
            payment:
              state: {pointer: /payment/word, map: {settled: paid, rejected: failed}}
              amount: /payment/cents
              amount_format: decimal
              currency: /payment/currency
            headers: {Authorization: {env: K, prefix: "Bearer "}}
            rate: 10
            burst: 5
            concurrency: 10
            timeout: 8s
            branding: {name: Acme}
            limits: {watches: 1, endpoints: 1}
        endpoints:
          orders:
            url: https://shop.example.com/hook
            account: acme
            types: ["source.*"]
            sources: [src_1]
            metadata: {order: A77}
            final_only: true
            coalesce: true
            retry: [5s, 1m, 10m]
            timeout: 10s
            rate: 10
            burst: 1
            concurrency: 16
            headers: {X-A: {env: K}}
            payload: thin
            notify_by: {within: 5m, endpoint: other}
            secret: {env: W}
          other:
            url: https://other.example.com/hook
            secret: {env: W}
            account: acme
        """

    @Test("the configuration file of the next tests has every member and is valid")
    func wholeFile() throws {
        let node = try #require(try Yams.compose(yaml: Self.whole))
        for member in FileMember.all {
            var path = member.parent.split(separator: ".").map(String.init)
            // Members that several sections share are in the first of them here.
            if ["branding", "limits"].contains(path[0]) { path = ["accounts", "NAME"] + path }
            var found: Yams.Node? = node
            for name in path + [member.name] {
                found = name == "NAME" ? found?.mapping?.first?.value : found?.mapping?[name]
            }
            #expect(found != nil, "\(member.fullPath) is not in the file")
        }
        let outcome = try read(Self.whole)
        #expect(outcome == nil)
    }

    @Test("any value in any place of the file gives a clear error or usable settings")
    func places() throws {
        let node = try #require(try Yams.compose(yaml: Self.whole))
        let seed = UInt64.random(in: .min ... .max)
        print("hostile places of the configuration file: seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        // A long run tries every value at every path.
        let isLong = HostileNumbers.isLongRun
        let all = Self.values + ["[]", "{}", "[[1]]", "{a: {b: c}}", "~", "*x", "!!int 1e999"]
        var count = 0
        for path in Self.paths(node) {
            for value in isLong ? all : Array(all.shuffled(using: &generator).prefix(6)) {
                let yaml = try Self.replacing(path[...], in: node, with: value)
                _ = try read(yaml)
                count += 1
            }
        }
        #expect(count > 300)
    }

    @Test("a randomly damaged file gives a clear error or usable settings")
    func damagedFiles() throws {
        let seed = UInt64.random(in: .min ... .max)
        print("damaged configuration files: seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let whole = Array(Self.whole.utf8)
        for _ in 0..<400 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let at = Int.random(in: 0..<bytes.count, using: &generator)
                switch generator.next() % 4 {
                case 0: bytes[at] = UInt8.random(in: 0x09...0x7E, using: &generator)
                case 1: bytes.remove(at: at)
                case 2:
                    let value = Self.values.randomElement(using: &generator) ?? ""
                    bytes.insert(contentsOf: value.utf8, at: at)
                default: bytes.removeSubrange(at..<min(at + 40, bytes.count))
                }
            }
            _ = try read(String(decoding: bytes, as: UTF8.self))
        }
    }

    // MARK: Reading

    /// Reads a file and returns its error, or `nil` if the file is valid.
    private func read(_ yaml: String) throws -> String? {
        let file = FileManager.default.temporaryDirectory
            .appendingPathComponent("poller-\(UUID().uuidString).yaml")
        try Data(yaml.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let environment = [
            "K": "sk_test_1", "W": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        ]
        let source = ConfigurationSource(flags: [:], environment: environment, file: file.path)
        return use(source, yaml)
    }

    /// Reads the configuration, creates settings from it as a process does, and returns the error, if any.
    @discardableResult
    private func use(
        _ source: ConfigurationSource,
        _ what: String
    ) -> String? {
        do {
            let settings = try Settings(try source.read().configuration.get())
            #expect(settings.lane.intervalUs >= 0)
            #expect(settings.lease.ms > 0 && settings.drainTimeout.ms >= 0)
            #expect(settings.retention.closed.ms > 0 && settings.retention.outbox.ms > 0)
            return nil
        } catch {
            let text = "\(error)"
            #expect(text.count > 8, "\(what) gives an error without a reason")
            return text
        }
    }

    /// Returns the paths of every scalar below a node.
    private static func paths(_ node: Yams.Node) -> [[String]] {
        guard let mapping = node.mapping else { return [[]] }
        return [[]]
            + mapping.flatMap { key, value in
                paths(value).map { [key.string ?? ""] + $0 }
            }
    }

    private static func replacing(
        _ path: ArraySlice<String>,
        in node: Yams.Node,
        with value: String
    ) throws -> String {
        func replaced(_ path: ArraySlice<String>, _ node: Yams.Node) -> Yams.Node {
            guard let first = path.first, var mapping = node.mapping else {
                return Yams.Node("PLACEHOLDER")
            }
            mapping[first] = replaced(path.dropFirst(), mapping[first] ?? "")
            return .mapping(mapping)
        }
        return try Yams.serialize(node: replaced(path, node))
            .replacing("PLACEHOLDER", with: value)
    }
}
