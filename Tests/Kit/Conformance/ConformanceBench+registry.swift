import Poller

extension ConformanceBench {
    /// An endpoint with a secret of its own, at a host of this name.
    func endpoint(
        _ host: String,
        account: String = "acct_a",
        id: EndpointID? = nil,
        _ change: (inout Endpoint) throws -> Void = { _ in }
    ) throws -> Endpoint {
        var chance = SystemRandomNumberGenerator()
        var endpoint = Endpoint(
            id: id ?? EndpointID(using: &chance),
            account: AccountID(unchecked: account),
            url: try NotifyURL("https://\(host).example/hook"),
            secrets: [EndpointSecret(WebhookSecret(using: &chance))]
        )
        try change(&endpoint)
        return endpoint
    }

    /// The request of a client that names it by a key.
    func request(
        _ key: String,
        account: String = "acct_a",
        body: String = "{}"
    ) -> EndpointRequest {
        EndpointRequest(
            account: AccountID(unchecked: account),
            key: key,
            body: Array(body.utf8)
        )
    }

    /// Creates an endpoint that must be new.
    @discardableResult
    func create(
        _ endpoint: Endpoint,
        _ request: EndpointRequest? = nil
    ) async throws -> Endpoint {
        let creation = try await harness.endpoints.create(endpoint, request: request)
        guard case .created(let created) = creation else {
            throw ConformanceFailure(message: "creating \(endpoint.url): \(creation)")
        }
        return created
    }

    func stored(_ id: EndpointID) async throws -> StoredEndpoint {
        try some(try await harness.endpoints.read(id), "the endpoint \(id)")
    }

    func list(
        account: AccountID? = nil,
        limit: Int,
        cursor: String? = nil
    ) async throws -> ListPage<Endpoint> {
        try await harness.endpoints.list(account: account, limit: limit, cursor: cursor)
    }
}
