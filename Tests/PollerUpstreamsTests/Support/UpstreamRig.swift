import Poller
import PollerIdentity
import PollerNet
import PollerUpstreams
import PollerWatches
import StripeAPI
import StripeSandbox
import Testing

/// A sandbox with one source, and an upstream that polls it.
struct UpstreamRig: Sendable {
    let base: String
    let sandbox: StripeClient
    let source: String
    let clientSecret: String

    private init(base: String, sandbox: StripeClient, source: String, clientSecret: String) {
        self.base = base
        self.sandbox = sandbox
        self.source = source
        self.clientSecret = clientSecret
    }

    /// Creates a rig without a sandbox, in which a stub server returns the source `src_1`.
    init(stub server: StubServer) {
        let base = "http://127.0.0.1:\(server.port)"
        self.init(
            base: base,
            sandbox: StripeClient(
                configuration: StripeClientConfiguration(key: StripeKey("sk_test_1"), baseURL: base)
            ),
            source: "src_1",
            clientSecret: "src_client_secret_1"
        )
    }

    /// Runs `body` with a sandbox that has a new iDEAL source.
    static func run(_ body: @escaping @Sendable (UpstreamRig) async throws -> Void) async throws {
        try await Sandbox.withRunning { base in
            let client = StripeClient(
                configuration: StripeClientConfiguration(key: StripeKey("sk_test_1"), baseURL: base)
            )
            let reply = try await client.post(
                "/v1/sources",
                form: [
                    ("type", "ideal"), ("amount", "1099"), ("currency", "eur"),
                    ("redirect[return_url]", "https://shop.example.com/thanks"),
                ]
            )
            let made = try reply.decode(Made.self)
            let rig = UpstreamRig(
                base: base,
                sandbox: client,
                source: made.id,
                clientSecret: made.clientSecret
            )
            try await body(rig)
        }
    }

    /// Makes the next requests for the source fail; `members` extends the fault's JSON.
    func fault(_ mode: String, _ members: String = "") async throws {
        let body = "{\"match\":\"/v1/sources/\(source)\",\"mode\":\"\(mode)\"\(members)}"
        let reply = try await Control(base: base).post("/_sandbox/faults", json: body)
        guard reply == 201 else { throw RigFailure(description: "fault \(mode): \(reply)") }
    }

    /// Removes all faults.
    func clearFaults() async throws {
        let reply = try await Control(base: base).delete("/_sandbox/faults")
        guard reply == 200 else { throw RigFailure(description: "faults: \(reply)") }
    }

    /// Sets the source's status.
    func set(_ status: String) async throws {
        let path = "/_sandbox/sources/\(source)/status"
        let reply = try await Control(base: base).post(path, json: "{\"status\":\"\(status)\"}")
        guard reply == 200 else { throw RigFailure(description: "status \(status): \(reply)") }
    }

    /// Polls once, as a worker does.
    func poll(
        _ id: String? = nil,
        kind: SourceKind = .source,
        key: String = "sk_test_1",
        clientSecret: String? = nil,
        timeout: Duration = .seconds(60)
    ) async -> PollResult {
        let watch = watch(id, kind: kind, clientSecret: clientSecret)
        return await upstream(key: key).poll(watch, timeout: timeout)
    }

    /// Returns an upstream for the sandbox, with a fixed clock.
    func upstream(key: String = "sk_test_1") -> StripeUpstream {
        StripeUpstream(
            accounts: StripeAccounts([
                .main: StripeClientConfiguration(key: StripeKey(key), baseURL: base)
            ]),
            resolver: SystemResolver(clock: ContinuousClock()),
            wallClock: { Timestamp(ms: 1_795_000_000_000) }
        )
    }

    /// Returns a watch of the source, or of another object.
    func watch(
        _ id: String? = nil,
        kind: SourceKind = .source,
        clientSecret: String? = nil
    ) -> Watch {
        let start = Timestamp(ms: 1_795_000_000_000)
        return Watch(
            key: WatchKey(
                account: .main,
                source: SourceID(unchecked: id ?? source),
                kind: kind
            ),
            policy: .standard,
            createdAt: start,
            deadline: start + .seconds(3600),
            run: 1,
            seq: 0,
            clientSecret: clientSecret.map(PollerWatches.ClientSecret.init(unchecked:))
        )
    }

    private struct Made: Decodable {
        let id: String
        let clientSecret: String

        enum CodingKeys: String, CodingKey {
            case id
            case clientSecret = "client_secret"
        }
    }
}

/// The reason why a rig could not be set up.
struct RigFailure: Error, CustomStringConvertible {
    let description: String
}

/// Records an issue; for the `else` of a guard that ends a test.
func fail(_ comment: Comment, sourceLocation: SourceLocation = #_sourceLocation) {
    Issue.record(comment, sourceLocation: sourceLocation)
}
