import NIOHTTP1
public import PollerWire

/// Whether mails to a recipient are held back.
public typealias MailSuppression = PollerWire.Suppression

extension PollerClient {
    /// Whether mails to a recipient are held back, and why.
    ///
    /// - `account`: whose mails; nil is the server's `default`. Who has bounced is told nothing by any.
    public func suppression(
        of recipient: String,
        account: String? = nil
    ) async throws -> Received<MailSuppression> {
        let path = Self.path(ofRecipient: recipient)
        return try await send(.GET, path, query: [("account", account)])
            .received("whether mails are held back")
    }

    /// Sends mails to a recipient again; doing it twice is harmless.
    @discardableResult
    public func liftSuppression(
        of recipient: String,
        account: String? = nil
    ) async throws -> Received<MailSuppression> {
        let path = Self.path(ofRecipient: recipient)
        return try await send(.DELETE, path, query: [("account", account)])
            .received("whether mails are held back")
    }

    private static func path(ofRecipient recipient: String) -> String {
        "/v1/mail/suppressions/\(percentEncoded(recipient))"
    }
}
