/// The code a Source with flow `code_verification` waits for.
public struct SourceVerification: Sendable, Hashable, Codable {
    /// How far it got.
    public let status: SourceVerificationStatus
    /// Attempts left; 0 when failed.
    public let attemptsRemaining: Int?

    private enum CodingKeys: String, CodingKey {
        case status
        case attemptsRemaining = "attempts_remaining"
    }
}
