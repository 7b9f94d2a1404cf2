import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import PollerIdentity

/// The upstream for measurements of real processes: nginx, or the stripe-sandbox if nginx is not installed.
enum BenchUpstream: Sendable {
    case nginx(NginxServer)
    case sandbox(String)

    /// Starts nginx if it is installed.
    static func start(otherwise sandboxURL: String) async throws -> BenchUpstream {
        try await NginxServer.start().map(BenchUpstream.nginx) ?? .sandbox(sandboxURL)
    }

    /// Ends the started server.
    func stop() {
        if case .nginx(let server) = self { server.stop() }
    }

    /// The name in the report.
    var name: String {
        switch self {
        case .nginx: "nginx"
        case .sandbox: "stripe-sandbox"
        }
    }

    var url: String {
        switch self {
        case .nginx(let server): server.url
        case .sandbox(let url): url
        }
    }

    /// The nginx, or `nil` if it is the sandbox.
    var nginx: NginxServer? {
        if case .nginx(let server) = self { server } else { nil }
    }

    /// Returns the URL that a worker polls under a load.
    func url(for load: RealLoad) -> String {
        guard let nginx else { return url }
        if load.held != nil { return nginx.slowURL }
        let plain = load.isChanging ? nginx.changedURL : nginx.url
        let secured = load.isChanging ? nginx.secured?.changedURL : nginx.secured?.url
        return load.isTLS ? secured ?? plain : plain
    }

    /// Returns the number of requests by the upstream's count, or `nil` if it keeps none.
    func requests() async throws -> Int? {
        try await nginx?.requests()
    }

    /// Returns known sources, evenly spread over accounts.
    ///
    /// A single account is the default one.
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

    /// Creates pending sources in the sandbox and returns their ids.
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
        struct Reply: Decodable {
            let ids: [String]
        }
        return try JSONDecoder().decode(Reply.self, from: Data(answer.readableBytesView)).ids
    }
}
