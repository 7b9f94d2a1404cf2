/// The words of one mail: a subject and two bodies that say the same.
struct MailContent: Hashable, Sendable {
    /// One line, as text.
    let subject: String
    let text: String
    let html: String
}
