import Poller
import PollerIdentity
import Synchronization

/// The pages of shops: each made when it is first asked for, and anew once its shop looks otherwise.
///
/// A page costs more than an answer with it, because its style and script are digested for its policy;
/// and what shops look like may change while we run.
///
/// A class, because all requests share what was made. It holds one page a shop of the configuration.
final class ShopPages<Page: Sendable>: Sendable {
    private let branding: @Sendable () -> [AccountID: Branding]
    private let make: @Sendable (Branding?) -> Page
    private let made = Mutex<[AccountID: (shop: Branding, page: Page)]>([:])
    /// The page of those that have not said who they are.
    let plain: Page

    /// Makes pages of shops as `branding` tells them.
    init(
        of branding: @escaping @Sendable () -> [AccountID: Branding],
        make: @escaping @Sendable (Branding?) -> Page
    ) {
        self.branding = branding
        self.make = make
        plain = make(nil)
    }

    /// The shops with what they look like now.
    var shops: [AccountID: Branding] { branding() }

    /// The page of an account.
    subscript(account: AccountID) -> Page {
        guard let shop = branding()[account] else { return plain }
        return made.withLock { made in
            if let known = made[account], known.shop == shop { return known.page }
            let page = make(shop)
            made[account] = (shop, page)
            return page
        }
    }
}
