#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension SourceParams {
    /// The same with the merchant's name in the return URL, where Stripe's redirect pages look for it.
    ///
    /// The SDKs append `redirect_merchant_name` to the query of every return URL that has none; here it is asked
    /// for. A return URL that cannot be read stays as it is.
    /// - Parameter name: The merchant as customers know it.
    /// - Returns: The copy.
    public func naming(merchant name: String) -> SourceParams {
        guard let returnURL, var components = URLComponents(string: returnURL) else { return self }
        var items = components.queryItems ?? []
        guard !items.contains(where: { $0.name == "redirect_merchant_name" }) else { return self }
        items.append(URLQueryItem(name: "redirect_merchant_name", value: name))
        components.queryItems = items
        var copy = self
        copy.returnURL = components.string ?? returnURL
        return copy
    }
}
