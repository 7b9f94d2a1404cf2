package import Logging
package import NIOCore
import NIOSSL
package import Poller
import ServiceLifecycle
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Where the certificate of a listener is, and who may connect to it.
package struct ListenerTLSFiles: Hashable, Sendable {
    /// The chain as PEM, the listener's own certificate first.
    package let certificate: String
    /// Its private key as PEM.
    package let key: String
    /// Certificates as PEM of which one must have signed a client's; nil where clients show none.
    package let clientCA: String?

    /// Names files.
    package init(certificate: String, key: String, clientCA: String? = nil) {
        self.certificate = certificate
        self.key = key
        self.clientCA = clientCA
    }
}

/// What a listener shows its clients, read again when its files change.
///
/// *Problem.* Certificates are renewed every few weeks, and a restart cuts ten thousand streams.
///
/// *Approach.* The files are read every five seconds. What has changed is tried first: a chain, its key
/// and the clients' roots that make a context take effect for the connections that come then; those
/// that are there keep theirs. What does not (a key that is not the certificate's, half a file, none at
/// all) is told once, as an error, and the old ones go on: the next look may find the other half.
///
/// *Rejected*: a watch on the files (tools replace them by renaming folders or links, each in another
/// way), and reading the pair alone, without the clients' roots.
package final class ListenerTLS: Sendable {
    /// How long a renewed certificate may go unnoticed.
    static let refreshInterval = Duration.seconds(5)
    /// A chain with its roots is some KiB; more is another file.
    private static let fileBytesMax = 1_048_576

    /// What was read at one look.
    fileprivate struct Contents: Hashable {
        let certificate: [UInt8]
        let key: [UInt8]
        let clientCA: [UInt8]?
    }

    /// What is shown now, and what it was made of.
    private struct State {
        var files: ListenerTLSFiles
        var context: NIOSSLContext
        var contents: Contents
        /// What was told last that is wrong with the files.
        var lastError: String?
    }

    private let name: String
    private let clock: any Clock<Duration>
    private let logger: Logger
    private let state: Mutex<State>

    /// Reads the files.
    ///
    /// Errors: ``InvalidInput`` for a file that cannot be read or used, by its option; never a key's text.
    package init(
        listener name: String,
        _ files: ListenerTLSFiles,
        clock: any Clock<Duration>,
        logger: Logger
    ) throws(InvalidInput) {
        self.name = name
        self.clock = clock
        self.logger = logger
        let contents = try Self.contents(name, files)
        let context = try Self.context(name, contents)
        state = Mutex(State(files: files, context: context, contents: contents))
    }

    /// Adds what speaks TLS to a connection; called first when it is being set up.
    package func add(to channel: any Channel) throws {
        let context = state.withLock { $0.context }
        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
    }

    /// What was read of files and can be shown, but is not yet.
    package struct Prepared: Sendable {
        fileprivate let files: ListenerTLSFiles
        fileprivate let context: NIOSSLContext
        fileprivate let contents: Contents
    }

    /// Reads these files, which may be others than before, and tries them.
    ///
    /// A listener that knows its clients by their certificates goes on to, with the roots of before, where
    /// none are named any more: what lets everybody in is for a start to judge.
    ///
    /// Errors: ``InvalidInput`` for a file that cannot be read or used; nothing has changed then.
    package func prepare(_ named: ListenerTLSFiles) throws(InvalidInput) -> Prepared {
        let files = ListenerTLSFiles(
            certificate: named.certificate,
            key: named.key,
            clientCA: named.clientCA ?? state.withLock { $0.files.clientCA }
        )
        let contents = try Self.contents(name, files)
        return Prepared(files: files, context: try Self.context(name, contents), contents: contents)
    }

    /// Shows what was prepared to all who connect from now on, and follows its files.
    package func apply(_ prepared: Prepared) { apply(prepared, insteadOf: nil) }

    /// The same, as long as these `files` are followed; nil whatever is.
    private func apply(_ prepared: Prepared, insteadOf files: ListenerTLSFiles?) {
        let isNew = state.withLock { state in
            if let files, files != state.files { return false }
            defer {
                state = State(
                    files: prepared.files,
                    context: prepared.context,
                    contents: prepared.contents
                )
            }
            return state.contents != prepared.contents
        }
        if isNew { logger.notice("certificate read again", metadata: ["listener": "\(name)"]) }
    }

    /// One look at the files.
    func refresh() {
        let files = state.withLock { $0.files }
        do throws(InvalidInput) {
            let contents = try Self.contents(name, files)
            guard state.withLock({ $0.contents != contents }) else {
                state.withLock { $0.lastError = nil }
                return
            }
            let context = try Self.context(name, contents)
            // Others may have been named since they were read.
            apply(Prepared(files: files, context: context, contents: contents), insteadOf: files)
        } catch {
            let lastError = "\(error.field) \(error.message)"
            let isNew = state.withLock { state in
                defer { state.lastError = lastError }
                return state.lastError != lastError
            }
            guard isNew else { return }
            logger.error(
                "certificate not usable; the one before goes on",
                metadata: ["listener": "\(name)", "error": "\(lastError)"]
            )
        }
    }

    private static func contents(
        _ name: String,
        _ files: ListenerTLSFiles
    ) throws(InvalidInput) -> Contents {
        Contents(
            certificate: try read(files.certificate, "\(name)_tls_certificate"),
            key: try read(files.key, "\(name)_tls_key"),
            clientCA: try files.clientCA.map { path throws(InvalidInput) in
                try read(path, "\(name)_client_ca")
            }
        )
    }

    private static func read(
        _ path: String,
        _ option: String
    ) throws(InvalidInput) -> [UInt8] {
        guard let data = try? Data(contentsOf: URL(fileURLWithPath: path)), !data.isEmpty,
            data.count <= fileBytesMax
        else {
            throw InvalidInput(
                field: option,
                message: "cannot be read at \(path): it must be a PEM file that pollerd may read"
            )
        }
        return Array(data)
    }

    private static func context(
        _ name: String,
        _ contents: Contents
    ) throws(InvalidInput) -> NIOSSLContext {
        let chain: [NIOSSLCertificate]
        do {
            chain = try NIOSSLCertificate.fromPEMBytes(contents.certificate)
        } catch {
            throw InvalidInput(
                field: "\(name)_tls_certificate",
                message: "holds no certificate: PEM is needed, the listener's own first"
            )
        }
        let key: NIOSSLPrivateKey
        do {
            key = try NIOSSLPrivateKey(bytes: contents.key, format: .pem)
        } catch {
            throw InvalidInput(
                field: "\(name)_tls_key",
                message: "holds no private key: PEM without a passphrase is needed"
            )
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(key)
        )
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        if let roots = contents.clientCA {
            do {
                configuration.trustRoots = .certificates(
                    try NIOSSLCertificate.fromPEMBytes(roots)
                )
            } catch {
                throw InvalidInput(
                    field: "\(name)_client_ca",
                    message: "holds no certificate as PEM"
                )
            }
            // A client has no name to check; it must show a certificate of these roots.
            configuration.certificateVerification = .noHostnameVerification
        }
        do {
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw InvalidInput(
                field: "\(name)_tls_key",
                message: "is not that of the certificate, or one of them is not usable"
            )
        }
    }
}

extension ListenerTLS: Service {
    /// Follows the files until shut down or cancelled.
    package func run() async {
        await cancelWhenGracefulShutdown { [self] in
            while !Task.isCancelled {
                // Cancelled: the loop's condition ends it.
                try? await clock.sleep(for: Self.refreshInterval)
                refresh()
            }
        }
    }
}
