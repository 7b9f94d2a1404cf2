import NIOHTTP1
public import PollerWire

/// Whether emails to a recipient are suppressed.
public typealias MailSuppression = PollerWire.Suppression

extension PollerClient {
    /// Returns whether emails to a recipient are suppressed, and why.
    ///
    /// - `account`: the sending account, or `nil` for the server's `default`. An address that has bounced gets no email
    ///   from any account.
    public func suppression(
        of recipient: String,
        account: String? = nil
    ) async throws -> Received<MailSuppression> {
        let path = Self.path(ofRecipient: recipient)
        return try await send(.GET, path, query: [("account", account)])
            .received("whether mails are held back")
    }

    /// Resumes emails to a recipient.
    ///
    /// A second call is harmless.
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
