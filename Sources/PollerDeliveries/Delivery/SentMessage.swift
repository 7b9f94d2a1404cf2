import Crypto
import PollerIdentity

/// A message to a recipient, as a channel composes it: the text of an email, or the body of a webhook.
///
/// It is composed again when a person reads it, because keeping every body would cost more memory than all other
/// records of a cluster. Each attempt keeps the ``digest`` instead, which shows whether the text is still the one that
/// was sent.
package struct SentMessage: Hashable, Sendable {
    /// The number of SHA-256 bytes that are kept: enough to notice a changed template, but no protection against
    /// forgery.
    private static let digestBytes = 6

    /// The media type of ``text``, such as `application/json`.
    package let type: String
    /// The recipient's address or URL.
    package let recipient: String
    /// The subject of an email; `nil` for other channels.
    package let subject: String?
    /// The text for people: the body of a webhook, or the text part of an email, without links that act for the
    /// recipient.
    package let text: String
    /// Eight characters that identify the composed message and its recipient.
    package let digest: String

    /// Creates a message.
    ///
    /// `composed` is the complete message, of which only the digest is kept. `text` is the version for people; it
    /// equals `composed` where nothing has to be hidden.
    package init(
        type: String,
        recipient: String,
        subject: String? = nil,
        composed: String,
        text: String? = nil
    ) {
        self.type = type
        self.recipient = recipient
        self.subject = subject
        self.text = text ?? composed
        digest = Self.digest(of: composed, subject: subject, to: recipient)
    }

    /// Returns the digest of a message and its address or URL, because an endpoint's URL may change.
    package static func digest(
        of composed: String,
        subject: String? = nil,
        to recipient: String
    ) -> String {
        var hash = SHA256()
        hash.update(data: Array("\(recipient)\n\(subject ?? "")\n".utf8))
        // Without a copy of the message.
        var composed = composed
        composed.withUTF8 { bytes in
            unsafe hash.update(bufferPointer: UnsafeRawBufferPointer(bytes))
        }
        return Base64URL.encode(hash.finalize().prefix(digestBytes))
    }
}
