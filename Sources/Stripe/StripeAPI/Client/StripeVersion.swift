/// The API version every request pins.
public enum StripeVersion {
    /// The version this library was written against.
    ///
    /// The newest version the official SDK `stripe-python` 16.1.0 speaks; pinning it keeps an account's
    /// default version from changing the shape of what we decode.
    public static let pinned = "2026-10-28.endive"
}
