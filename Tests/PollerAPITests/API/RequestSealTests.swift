import HTTPTypes
import Hummingbird
import PollerIdentity
import PollerOperations
import Testing

@testable import PollerAPI

@Suite("Names and seals of requests") struct RequestSealTests {
    private let seals = RequestSeals(root: Array(0..<32))
    private let route = RouteDescription.sample("createKey")

    private func request(_ name: String, path: String = "/v1/keys") -> Request {
        Request(
            head: HTTPRequest(
                method: .post,
                scheme: "http",
                authority: "a",
                path: path,
                headerFields: [.idempotencyKey: name]
            ),
            body: RequestBody(buffer: .init())
        )
    }

    private func caller(_ accounts: AccountSet = .all) -> Caller {
        Caller(
            name: "shop",
            scopes: [],
            accounts: accounts,
            actor: AuditActor(name: "shop", role: .admin, accounts: accounts)
        )
    }

    private func named(
        _ name: String,
        key: String,
        path: String = "/v1/keys",
        _ caller: Caller,
        route: String = "createKey",
        body: String = "{}"
    ) -> (request: IdempotentRequest, seal: RequestSeal) {
        seals.named(
            request(name, path: path),
            body: Array(body.utf8),
            for: .sample(route),
            isTakenWhenFull: true,
            by: caller,
            presenting: key
        )
    }

    @Test("a name is unique per key, operation and `Idempotency-Key`")
    func names() {
        let one = named("n", key: "k", caller()).request
        #expect(named("n", key: "k", caller()).request == one)
        for other in [
            named("m", key: "k", caller()), named("n", key: "l", caller()),
            named("n", key: "k", caller(), route: "enqueue"),
            named("n", key: "", .local),
        ] {
            #expect(other.request.name != one.name)
        }
    }

    @Test("the fingerprint covers path, query, body and the key's accounts")
    func fingerprints() {
        let one = named("n", key: "k", caller()).request
        for other in [
            named("n", key: "k", path: "/v1/keys/", caller()),
            named("n", key: "k", path: "/v1/keys?a=1", caller()),
            named("n", key: "k", caller(), body: "{ }"),
            named("n", key: "k", caller(.some([.main]))),
        ] {
            #expect(other.request.name == one.name)
            #expect(other.request.fingerprint != one.fingerprint)
        }
    }

    @Test("a sealed response opens only with the same name and root")
    func seal() throws {
        let seal = named("n", key: "k", caller()).seal
        let kept = seal.seal(201, "application/json", Array(#"{"a":"\#n"}"#.utf8))
        let opened = try #require(
            named("n", key: "k", caller(), body: "x").seal.open(kept)
        )
        #expect(opened.status == 201 && opened.type == "application/json")
        #expect(String(decoding: opened.body, as: UTF8.self) == #"{"a":"\#n"}"#)
        #expect(seal.seal(201, "application/json", []) != seal.seal(201, "application/json", []))
        let others = [
            named("m", key: "k", caller()).seal,
            named("n", key: "l", caller()).seal,
            RequestSeals(root: Array(1..<33)).named(
                request("n"),
                body: [],
                for: route,
                isTakenWhenFull: true,
                by: caller(),
                presenting: "k"
            ).seal,
        ]
        for other in others { #expect(other.open(kept) == nil) }
        #expect(seal.open([]) == nil && seal.open(Array(kept.dropLast())) == nil)
    }
}

extension RouteDescription {
    /// Returns a route with only an operation.
    fileprivate static func sample(_ operation: String) -> RouteDescription {
        Route(.post, "/x", operation, "", access: .key(.manageKeys), answers: []).description
    }
}
