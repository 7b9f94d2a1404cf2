package import Logging
package import NIOCore
import NIOSSL
package import PollerIdentity
import ServiceLifecycle
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The files with the certificate of a listener, and with the authorities of its clients.
package struct ListenerTLSFiles: Hashable, Sendable {
    /// The chain as PEM, the listener's own certificate first.
    package let certificate: String
    /// Its private key as PEM.
    package let key: String
    /// The client authorities as PEM, one of which must have signed a client's certificate; `nil`
    /// if clients need no certificate.
    package let clientCA: String?

    package init(certificate: String, key: String, clientCA: String? = nil) {
        self.certificate = certificate
        self.key = key
        self.clientCA = clientCA
    }
}

/// The TLS configuration of a listener, reloaded when its files change.
///
/// *Problem.* Certificates are renewed every few weeks, and a restart would close ten thousand
/// streams.
///
/// *Approach.* The files are read every five seconds. Changed files are tested first. A chain, its
/// key and the client authorities that form a valid context apply to new connections; existing ones
/// keep theirs. Invalid files (a key of another certificate, half a file, none at all) are logged
/// once as an error, and the old configuration remains in use: the next read may find the other
/// half.
///
/// *Rejected*: watching the files (tools replace them by renaming folders or links, each
/// differently), and reading the pair alone, without the client authorities.
package final class ListenerTLS: Sendable {
    /// How long a renewed certificate may go unnoticed.
    static let refreshInterval = Duration.seconds(5)
    /// A chain with its roots has a few KiB; anything larger is another file.
    private static let fileBytesMax = 1_048_576

    /// The contents of the files at one read.
    fileprivate struct Contents: Hashable {
        let certificate: [UInt8]
        let key: [UInt8]
        let clientCA: [UInt8]?
    }

    /// The current configuration and the files it was made of.
    private struct State {
        var files: ListenerTLSFiles
        var context: NIOSSLContext
        var contents: Contents
        /// The error about the files that was logged last.
        var lastError: String?
    }

    private let name: String
    private let clock: any Clock<Duration>
    private let logger: Logger
    private let state: Mutex<State>

    /// Reads the files.
    ///
    /// Errors: ``InvalidInput`` for a file that cannot be read or used, with its option; never the
    /// text of a key.
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

    /// Adds TLS to a connection; called first when it is being set up.
    package func add(to channel: any Channel) throws {
        let context = state.withLock { $0.context }
        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
    }

    /// A valid configuration that is not applied yet.
    package struct Prepared: Sendable {
        fileprivate let files: ListenerTLSFiles
        fileprivate let context: NIOSSLContext
        fileprivate let contents: Contents
    }

    /// Reads these files, which may be others than before, and tests them.
    ///
    /// A listener with client certificates keeps requiring them, with the previous authorities, if
    /// no file is given any more. Only a start may open it to all clients. Errors: ``InvalidInput``
    /// for a file that cannot be read or used; nothing has changed then.
    package func prepare(_ named: ListenerTLSFiles) throws(InvalidInput) -> Prepared {
        let files = ListenerTLSFiles(
            certificate: named.certificate,
            key: named.key,
            clientCA: named.clientCA ?? state.withLock { $0.files.clientCA }
        )
        let contents = try Self.contents(name, files)
        return Prepared(files: files, context: try Self.context(name, contents), contents: contents)
    }

    /// Applies a configuration to all new connections, and reads its files from then on.
    package func apply(_ prepared: Prepared) { apply(prepared, insteadOf: nil) }

    /// Applies a configuration unless other `files` are in use by now; `nil` applies it always.
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
        if isNew { logger.notice("certificate reloaded", metadata: ["listener": "\(name)"]) }
    }

    /// Reads the files once and applies a change.
    func refresh() {
        let files = state.withLock { $0.files }
        do throws(InvalidInput) {
            let contents = try Self.contents(name, files)
            guard state.withLock({ $0.contents != contents }) else {
                state.withLock { $0.lastError = nil }
                return
            }
            let context = try Self.context(name, contents)
            // Other files may have been configured since they were read.
            apply(Prepared(files: files, context: context, contents: contents), insteadOf: files)
        } catch {
            let lastError = "\(error.field) \(error.message)"
            let isNew = state.withLock { state in
                defer { state.lastError = lastError }
                return state.lastError != lastError
            }
            guard isNew else { return }
            logger.error(
                "certificate reload failed; keeping the previous one",
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
                option,
                "cannot be read at \(path): it must be a PEM file that pollerd may read"
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
                "\(name)_tls_certificate",
                "contains no certificate: use PEM, the listener's own certificate first"
            )
        }
        let key: NIOSSLPrivateKey
        do {
            key = try NIOSSLPrivateKey(bytes: contents.key, format: .pem)
        } catch {
            throw InvalidInput(
                "\(name)_tls_key",
                "contains no private key: use PEM without a passphrase"
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
                throw InvalidInput("\(name)_client_ca", "contains no PEM certificate")
            }
            // A client has no name to verify; it must have a certificate of these authorities.
            configuration.certificateVerification = .noHostnameVerification
        }
        do {
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw InvalidInput(
                "\(name)_tls_key",
                "does not match the certificate, or one of them is invalid"
            )
        }
    }
}

extension ListenerTLS: Service {
    /// Reloads the files until shut down or cancelled.
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
