import NIOHTTP1
public import PollerWire

extension PollerClient {
    /// Every key of the API that this one may see, the newest first.
    public func keys() async throws -> Page<AccessKey> {
        try Page(try await send(.GET, "/v1/keys"))
    }

    /// Has a key made; ``AccessKey/reveal`` is told here, and to a repeat under the same name.
    ///
    /// - `idempotencyKey`: of any number of calls with the same one, one makes a key.
    public func createKey(
        _ key: NewAccessKey,
        idempotencyKey: String? = nil
    ) async throws -> Received<AccessKey> {
        try await send(.POST, "/v1/keys", body: key.json, idempotencyKey: idempotencyKey)
            .received("a key")
    }

    /// Revokes a key, which opens nothing any more within a second.
    @discardableResult
    public func revoke(key id: String) async throws -> Received<AccessKey> {
        try await send(.DELETE, "/v1/keys/\(Self.percentEncoded(id))").received("a key")
    }
}
