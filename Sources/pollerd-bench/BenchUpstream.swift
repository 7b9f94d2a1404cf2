import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Poller
import PollerIdentity

/// Who is polled while real processes are measured: nginx, or our stripe-sandbox where that is not installed.
enum BenchUpstream: Sendable {
    case nginx(NginxServer)
    case sandbox(String)

    /// Takes nginx where it can be had.
    static func start(otherwise sandboxURL: String) async throws -> BenchUpstream {
        try await NginxServer.start().map(BenchUpstream.nginx) ?? .sandbox(sandboxURL)
    }

    /// Ends what was started for it.
    func stop() {
        if case .nginx(let server) = self { server.stop() }
    }

    /// What the report calls it.
    var name: String {
        switch self {
        case .nginx: "nginx"
        case .sandbox: "stripe-sandbox"
        }
    }

    /// Where it is.
    var url: String {
        switch self {
        case .nginx(let server): server.url
        case .sandbox(let url): url
        }
    }

    /// Where it is over TLS; nil when it cannot be had, or nobody can be made to trust it.
    var secured: (url: String, authority: TrustedAuthority)? {
        if case .nginx(let server) = self { server.secured } else { nil }
    }

    /// Requests it has answered, by its own count; nil when it keeps none.
    func requests() async throws -> Int? {
        if case .nginx(let server) = self { try await server.requests() } else { nil }
    }

    /// Sources that it knows, evenly spread over so many accounts; one account is the main one.
    func sources(_ count: Int, accounts: Int, store: BenchStore) async throws -> [WatchKey] {
        switch self {
        case .nginx:
            let keys = try store.keys(count, lanes: accounts)
            if accounts > 1 { return keys }
            return keys.map { WatchKey(account: .main, source: $0.source, kind: $0.kind) }
        case .sandbox(let url):
            var keys: [WatchKey] = []
            for number in 0..<accounts {
                let account = accounts > 1 ? try AccountID("acct_bench\(number)") : .main
                let share = count / accounts + (number < count % accounts ? 1 : 0)
                guard share > 0 else { continue }
                let ids = try await Self.bulk(share, of: account, at: url)
                keys += try ids.map {
                    WatchKey(account: account, source: try SourceID($0), kind: .source)
                }
            }
            return keys
        }
    }

    /// Makes pending sources in the sandbox; their ids.
    static func bulk(
        _ count: Int,
        of account: AccountID = .main,
        at sandboxURL: String
    ) async throws -> [String] {
        let owner = account == .main ? "" : ",\"account\":\"\(account)\""
        var request = HTTPClientRequest(url: "\(sandboxURL)/_sandbox/bulk")
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        let body = "{\"count\":\(count),\"type\":\"ideal\"\(owner)}"
        request.body = .bytes(ByteBuffer(string: body))
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        let answer = try await response.body.collect(upTo: 16 << 20)
        /// The answer that lists the sources to watch.
        struct Reply: Decodable {
            let ids: [String]
        }
        return try JSONDecoder().decode(Reply.self, from: Data(answer.readableBytesView)).ids
    }
}
