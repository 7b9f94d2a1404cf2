import NIOHTTP1
public import PollerWire

extension PollerClient {
    /// Returns every API key that this key may read, the newest first.
    public func keys() async throws -> Page<AccessKey> {
        try Page(try await send(.GET, "/v1/keys"))
    }

    /// Creates a key.
    ///
    /// Only this response, and its repeats, contain ``AccessKey/reveal``.
    ///
    /// - `idempotencyKey`: any number of calls with the same key create one API key.
    public func createKey(
        _ key: NewAccessKey,
        idempotencyKey: String? = nil
    ) async throws -> Received<AccessKey> {
        try await send(.POST, "/v1/keys", body: key.json, idempotencyKey: idempotencyKey)
            .received("a key")
    }

    /// Revokes a key, which becomes invalid within a second.
    @discardableResult
    public func revoke(key id: String) async throws -> Received<AccessKey> {
        try await send(.DELETE, "/v1/keys/\(Self.percentEncoded(id))").received("a key")
    }

    /// Returns the account of a request that has none: `default`, or the only account of a bound key.
    ///
    /// Returns `nil` if the server rejects such requests, because the key has several other accounts.
    func defaultAccount() async throws -> String? {
        let caller: KeyHolder = try await send(.GET, "/v1/caller").value()
        guard let accounts = caller.accounts, !accounts.contains("default") else {
            return "default"
        }
        return accounts.count == 1 ? accounts.first : nil
    }
}
